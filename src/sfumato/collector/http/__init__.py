"""What a collector answers over HTTP: a table of endpoints, for anybody (`public`) and for analysts (`analyst`)."""
