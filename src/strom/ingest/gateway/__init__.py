"""The HTTP gateway: any program writes into Kafka and reads back from it, with a user name and a password."""
