# Build stage: Debian and `make`. Then nothing but the one static binary.
FROM debian:bookworm-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends make
WORKDIR /src
COPY deploy/packages.sh deploy/
RUN deploy/packages.sh build
COPY . .
RUN make build/tinderbox && strip build/tinderbox

FROM scratch
COPY --from=build /src/build/tinderbox /tinderbox
USER 185:185
ENTRYPOINT ["/tinderbox"]
