"""What `strom bench pipeline` runs in Spark."""
