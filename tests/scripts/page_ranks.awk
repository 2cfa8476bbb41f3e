# Ten iterations of PageRank over lines `FROM TO`, in the words of Spark's example: pages that nobody links to have no rank.
{ from[NR] = $1; to[NR] = $2; ++out[$1]; rank[$1] = 1 }
END {
  for (i = 0; i < 10; ++i) {
    split("", got)
    for (n = 1; n <= NR; ++n) if (from[n] in rank) got[to[n]] += rank[from[n]] / out[from[n]]
    split("", rank)
    for (page in got) rank[page] = 0.15 + 0.85 * got[page]
  }
  for (page in rank) printf "%s has rank: %.6f.\n", page, rank[page]
}
