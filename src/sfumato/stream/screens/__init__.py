"""What stands between a feed and a publisher: bad records are made good or set aside."""
