"""The ways to move values: noise inside leaves, columns drawn in turn, GADP, and what is done beside them."""
