"""How many messages a second the whole way takes without falling behind."""
