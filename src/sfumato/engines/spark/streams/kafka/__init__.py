"""Topics of Kafka as what a stream on Spark reads, by Spark's own source."""
