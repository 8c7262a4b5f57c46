"""The doors in: what brings readings from devices into Kafka without losing any."""
