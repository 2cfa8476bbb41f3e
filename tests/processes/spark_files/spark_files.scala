// The Spark side of run.sh, by spark-shell -i: reads what tinderbox wrote, and writes the same pairs. spark.files.folder says where.
import org.apache.hadoop.fs.Path
import org.apache.hadoop.io._
import org.apache.hadoop.io.compress._

val folder = sc.getConf.get("spark.files.folder")
val pairs = 60000
// As spark_files.cpp makes them of a number.
def text(i: Long) = "row " + i + " \u00e9" + "x" * (i % 50).toInt
def raw(i: Long) = (0 until (i % 40).toInt).map(k => (i + k).toByte).toArray
def int(i: Long) = (i * 70001 - 2000000000L).toInt
def writables(kind: String, i: Long): (Writable, Writable) = kind match {
  case "int_text" => (new IntWritable(int(i)), new Text(text(i)))
  case "long_double" => (new LongWritable(i * (1L << 40)), new DoubleWritable(i / 8.0))
  case "text_bytes" => (new Text(text(i)), new BytesWritable(raw(i)))
  case "bool_float" => (new BooleanWritable(i % 3 == 0), new FloatWritable(i / 4f))
  case "null_text" => (NullWritable.get, new Text(text(i)))
}
def save(kind: String, to: String, codec: Option[Class[_ <: CompressionCodec]]): Unit = {
  val numbers = sc.range(0, pairs, 1, 3)
  kind match {
    case "int_text" => numbers.map(i => (int(i), text(i))).saveAsSequenceFile(to, codec)
    case "long_double" => numbers.map(i => (i * (1L << 40), i / 8.0)).saveAsSequenceFile(to, codec)
    case "text_bytes" => numbers.map(i => (text(i), raw(i))).saveAsSequenceFile(to, codec)
    case "bool_float" => numbers.map(i => (i % 3 == 0, i / 4f)).saveAsSequenceFile(to, codec)
    case "null_text" => numbers.map(i => (NullWritable.get, text(i))).saveAsSequenceFile(to, codec)
  }
}
/** Each value compressed on its own, which Spark's own call cannot say. */
def saveRecords(kind: String, to: String): Unit = {
  val conf = sc.hadoopConfiguration
  val codec = new DefaultCodec
  codec.setConf(conf)
  val (key, value) = writables(kind, 0)
  val writer = SequenceFile.createWriter(conf, SequenceFile.Writer.file(new Path(to + "/part-00000")),
    SequenceFile.Writer.keyClass(key.getClass), SequenceFile.Writer.valueClass(value.getClass),
    SequenceFile.Writer.compression(SequenceFile.CompressionType.RECORD, codec))
  for (i <- 0L until pairs) { val (k, v) = writables(kind, i); writer.append(k, v) }
  writer.close()
}
/** Whether a folder of tinderbox's holds the pairs of 0, 1, 2, … in order. Its parts are named: Spark takes those of a folder as they come. */
def check(kind: String, from: String, splits: Int): Boolean = {
  val path = (0 until 3).map(part => f"file:$from/part-$part%05d").mkString(",")
  val wrong = kind match {
    case "int_text" => sc.sequenceFile[Int, String](path, splits).zipWithIndex.filter { case (p, i) => p != ((int(i), text(i))) }.count
    case "long_double" => sc.sequenceFile[Long, Double](path, splits).zipWithIndex.filter { case (p, i) => p != ((i * (1L << 40), i / 8.0)) }.count
    case "text_bytes" => sc.sequenceFile[String, Array[Byte]](path, splits).zipWithIndex.filter { case ((k, v), i) => k != text(i) || !v.sameElements(raw(i)) }.count
    case "bool_float" => sc.sequenceFile[Boolean, Float](path, splits).zipWithIndex.filter { case (p, i) => p != ((i % 3 == 0, i / 4f)) }.count
    case "null_text" => sc.sequenceFile(path, classOf[NullWritable], classOf[Text], splits).map(_._2.toString).zipWithIndex.filter { case (t, i) => t != text(i) }.count
  }
  val count = if (kind == "text_bytes") sc.sequenceFile[String, Array[Byte]](path, splits).count
    else sc.sequenceFile(path, classOf[Writable], classOf[Writable], splits).count
  wrong == 0 && count == pairs
}

val codecs = Seq[(String, Option[Class[_ <: CompressionCodec]])](
  "none" -> None, "default" -> Some(classOf[DefaultCodec]), "gzip" -> Some(classOf[GzipCodec]))
try {
  for (kind <- Seq("int_text", "long_double", "text_bytes", "bool_float", "null_text")) {
    for ((name, codec) <- codecs; to = s"$kind-$name") {
      for (splits <- Seq(1, 50))
        println((if (check(kind, s"$folder/tinderbox/$to", splits)) "ok   " else "FAIL ") + s"Spark reads $to in $splits splits")
      save(kind, s"file:$folder/spark/$to", codec)
    }
    saveRecords(kind, s"file:$folder/spark/$kind-record")
  }
  save("int_text", s"file:$folder/spark/int_text-bzip2", Some(classOf[BZip2Codec]))
  println("DONE")
} catch { case e: Throwable => println("FAIL " + e) }
System.exit(0)
