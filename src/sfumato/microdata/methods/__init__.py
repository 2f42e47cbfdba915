"""Methods of release: noise inside leaves, columns drawn in turn, GADP, swapping; and the treatment beside them."""
