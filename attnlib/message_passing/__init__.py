"""Message passing: attention on graphs, beliefs, and where the two meet (chapter 6)."""
