"""Several processes that answer behind one port, and the supervisor that starts and ends them."""
