// The cases of engine.cpp for Apache Spark, by spark-shell -i: the conf bench.folder, bench.case and bench.rounds say what.
// How many records, and the sum of what each of them gives.
def total[T](records: org.apache.spark.rdd.RDD[T])(value: T => Long): String = {
  val sums = records.aggregate((0L, 0L))((sum, record) => (sum._1 + 1, sum._2 + value(record)), (a, b) => (a._1 + b._1, a._2 + b._2))
  s"${sums._1}/${sums._2}"
}
def wordCount(folder: String): String =
  total(sc.textFile(folder + "/text.txt").flatMap(_.split(" ")).map((_, 1L)).reduceByKey(_ + _))(_._2)
def group(folder: String): String = {
  val sums = sc.range(0, 100000000L).map(x => (x.longValue % 1000000, x.longValue)).reduceByKey(_ + _)
  total(sums)(sum => sum._2 * (sum._1 % 1000))
}
def sortFiles(path: String, partitions: Option[Int]): String = {
  val records = sc.textFile(path).map(line => (line.substring(0, 10), line))
  val parts = partitions.fold(records.sortByKey())(records.sortByKey(true, _)).mapPartitions { records =>
    var first = ""
    var last = ""
    var n = 0L
    var bytes = 0L
    records.foreach { record =>
      if (record._1 < last) throw new RuntimeException("out of order")
      if (n == 0) first = record._1
      last = record._1
      n += 1
      bytes += record._2.charAt(12) + record._2.charAt(50) + record._2.charAt(97)
    }
    Iterator((first, last, n, bytes))
  }.collect().filter(_._3 > 0)
  if (parts.zip(parts.drop(1)).exists { case (a, b) => b._1 < a._2 }) throw new RuntimeException("partitions out of order")
  s"${parts.map(_._3).sum}/${parts.map(_._4).sum}"
}
def pageRank(folder: String): String = {
  val links = sc.textFile(folder + "/edges.txt").map { line => val ends = line.split(" "); (ends(0).toInt, ends(1).toInt) }.groupByKey()
  links.cache()
  var ranks = links.mapValues(_ => 1.0)
  for (i <- 1 to 10)
    ranks = links.join(ranks).values.flatMap { case (targets, rank) =>
      val share = rank / targets.size
      targets.map((_, share))
    }.reduceByKey(_ + _).mapValues(0.15 + 0.85 * _)
  val sum = ranks.values.sum()
  links.unpersist(true)
  f"$sum%.1f"
}
def shuffle(folder: String): String =
  total(sc.range(0, 200, 1, 200).flatMap(p => (0 until 200).map(i => (i, p.toInt))).groupByKey(200))(_._2.sum.toLong)

val conf = sc.getConf
val folder = conf.get("spark.bench.folder")
val name = conf.get("spark.bench.case")
var best = Double.MaxValue
var check = ""
for (i <- 1 to conf.getInt("spark.bench.rounds", 3)) {
  val start = System.nanoTime
  check = name match {
    case "word_count" => wordCount(folder)
    case "group" => group(folder)
    case "sort" => sortFiles(folder + "/records.txt", None)
    case "big_sort" => sortFiles(folder + "/big", Some(16))
    case "page_rank" => pageRank(folder)
    case "shuffle" => shuffle(folder)
  }
  best = math.min(best, (System.nanoTime - start) / 1e9)
}
println(f"RESULT $name $check $best%.3f")
System.exit(0)
