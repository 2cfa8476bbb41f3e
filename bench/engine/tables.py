# The cases of engine.cpp that are a table's, for DuckDB and Polars: tables.py ENGINE FOLDER CASE [ROUNDS=3] [MEMORY].
# Two threads; prints `CASE CHECK SECONDS` of the best round. MEMORY (1GB) is what DuckDB may use, and its spill lies in FOLDER.
# A case whose check would take long beside it returns a function that makes it, which is not timed.
import os
import sys
import time

engine, folder, case = sys.argv[1:4]
rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 3
memory = sys.argv[5] if len(sys.argv) > 5 else None
os.environ["POLARS_MAX_THREADS"] = "2"
size, places = 99, (12, 50, 97)  # of a record to sort: its length, and the bytes of it that are summed


class DuckDB:
    def __init__(self):
        import duckdb

        self.db = duckdb.connect(config={"threads": 2, **({"memory_limit": memory} if memory else {})})
        self.db.execute(f"SET temp_directory = '{folder}/duckdb.tmp'; SET preserve_insertion_order = false")

    def one(self, query):
        return self.db.execute(query).fetchone()

    def lines(self, path):
        return (
            f"read_csv('{path}', columns = {{'line': 'VARCHAR'}}, header = false, delim = '\\x01', quote = '', escape = '', "
            "auto_detect = false)"
        )

    def word_count(self):
        words = f"SELECT unnest(string_split(line, ' ')) AS word FROM {self.lines(folder + '/text.txt')}"
        return "%d/%d" % self.one(f"SELECT count(*), sum(n) FROM (SELECT word, count(*) AS n FROM ({words}) GROUP BY word)")

    def group(self):
        sums = "SELECT x % 1000000 AS k, sum(x) AS s FROM range(100000000) t(x) GROUP BY k"
        return "%d/%d" % self.one(f"SELECT count(*), sum(s * (k % 1000)) FROM ({sums})")

    def sort(self):
        self.db.execute(
            f"CREATE OR REPLACE TEMP TABLE sorted AS SELECT * FROM {self.lines(folder + '/records.txt')} ORDER BY line[1:10]"
        )
        byte = " + ".join(f"ascii(line[{at + 1}:{at + 1}])" for at in places)
        return lambda: "%d/%d" % self.one(f"SELECT count(*), sum({byte}) FROM sorted")

    # Handed out in order, batch by batch, and forgotten.
    def big_sort(self):
        import pyarrow
        import pyarrow.compute

        def summed(lines):
            data = memoryview(lines.buffers()[2])
            each = (pyarrow.py_buffer(data[at : size * len(lines) : size].tobytes()) for at in places)
            arrays = [pyarrow.Array.from_buffers(pyarrow.uint8(), len(lines), [None, one]) for one in each]
            return sum(pyarrow.compute.sum(array).as_py() for array in arrays)

        found = self.db.execute(f"SELECT line[1:10] AS key, line FROM {self.lines(folder + '/big/part-*')} ORDER BY key")
        reader = found.fetch_record_batch(100_000) if hasattr(found, "fetch_record_batch") else found.to_arrow_reader(100_000)
        records = total = 0
        for batch in reader:
            records += batch.num_rows
            total += summed(batch.column(1))
        return f"{records}/{total}"

    def page_rank(self):
        edges = (
            f"read_csv('{folder}/edges.txt', columns = {{'src': 'INTEGER', 'dst': 'INTEGER'}}, header = false, delim = ' ', "
            "auto_detect = false)"
        )
        self.db.execute(f"CREATE OR REPLACE TEMP TABLE links AS SELECT * FROM {edges}")
        self.db.execute("CREATE OR REPLACE TEMP TABLE degrees AS SELECT src, count(*) AS n FROM links GROUP BY src")
        self.db.execute("CREATE OR REPLACE TEMP TABLE ranks AS SELECT src AS id, 1.0::DOUBLE AS rank FROM degrees")
        for _ in range(10):
            self.db.execute(
                "CREATE OR REPLACE TEMP TABLE ranks AS WITH shares AS "
                "(SELECT id, rank / n AS share FROM ranks JOIN degrees ON id = src) "
                "SELECT dst AS id, 0.15 + 0.85 * sum(share) AS rank FROM links JOIN shares ON src = id GROUP BY dst"
            )
        return "%.1f" % self.one("SELECT sum(rank) FROM ranks")[0]


class Polars:
    def __init__(self):
        import polars

        self.pl = polars

    def lines(self, path):
        return self.pl.scan_csv(path, has_header=False, separator="\x01", quote_char=None, new_columns=["line"])

    def word_count(self):
        pl = self.pl
        words = self.lines(folder + "/text.txt").select(pl.col("line").str.split(" ").explode())
        counts = words.group_by("line").len().select(pl.len(), pl.col("len").sum().alias("sum"))
        return "%d/%d" % counts.collect(engine="streaming").row(0)

    def group(self):
        pl = self.pl
        numbers = pl.LazyFrame().select(pl.int_range(100_000_000).alias("x"))
        sums = numbers.group_by((pl.col("x") % 1_000_000).alias("k")).agg(pl.col("x").sum())
        total = sums.select(pl.len(), (pl.col("x") * (pl.col("k") % 1000)).sum())
        return "%d/%d" % total.collect(engine="streaming").row(0)

    def sort(self):
        pl = self.pl
        keyed = self.lines(folder + "/records.txt").with_columns(pl.col("line").str.slice(0, 10).alias("key"))
        found = keyed.sort("key").collect(engine="streaming")
        byte = sum(pl.col("line").str.slice(at, 1).str.encode("hex").str.to_integer(base=16) for at in places)
        return lambda: "%d/%d" % found.select(pl.len(), byte.sum()).row(0)

    def page_rank(self):
        pl = self.pl
        links = pl.read_csv(
            folder + "/edges.txt", has_header=False, separator=" ", new_columns=["src", "dst"],
            schema_overrides=[pl.Int32, pl.Int32],
        ).lazy()
        degrees = links.group_by("src").len("n").collect(engine="streaming").lazy()
        ranks = degrees.select(pl.col("src").alias("id"), rank=pl.lit(1.0))
        for _ in range(10):
            shares = ranks.join(degrees, left_on="id", right_on="src").select("id", share=pl.col("rank") / pl.col("n"))
            joined = links.join(shares, left_on="src", right_on="id").group_by(pl.col("dst").alias("id"))
            ranks = joined.agg(rank=0.15 + 0.85 * pl.col("share").sum()).collect(engine="streaming").lazy()
        return "%.1f" % ranks.select(pl.col("rank").sum()).collect().item()


run = getattr({"duckdb": DuckDB, "polars": Polars}[engine](), case)
best = float("inf")
for _ in range(rounds):
    start = time.perf_counter()
    check = run()
    best = min(best, time.perf_counter() - start)
    check = check() if callable(check) else check
print(f"{case} {check} {best:.3f}", flush=True)
