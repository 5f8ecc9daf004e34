"""Programs that write files of the repository from others, which tests compare with them."""
