"""What the service shows in a browser and to monitors: pages of the console, metrics, health."""
