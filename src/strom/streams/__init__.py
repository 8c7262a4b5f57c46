"""The Kafka contract: topics, headers, producers, consumers, administration."""
