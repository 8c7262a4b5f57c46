"""MQTT 5 over a socket: connections that neither know Kafka nor what a reading is."""
