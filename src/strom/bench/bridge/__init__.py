"""The bridge beside a bare subscriber, and beside others that carry MQTT to Kafka where they are installed."""
