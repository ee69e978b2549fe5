"""What the cells of the grid run: base models, streams, methods."""
