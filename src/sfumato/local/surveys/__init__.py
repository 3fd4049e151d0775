"""Several questions to the same devices, and views that cross them."""
