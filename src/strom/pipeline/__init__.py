"""The Spark pipeline, the only place that imports pyspark: transforms without sources or sinks, and the jobs that join them to both."""
