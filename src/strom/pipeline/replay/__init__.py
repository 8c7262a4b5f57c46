"""Works out the past again by the live code, and puts what came of it in the place of the live tables."""
