"""What the paper's figure 8 states, for those who compare with it."""

PIXELS = 100
"""Its ring; figure 3 has 40."""
SHARP = 100.0
"""The gain at which its fields localize."""
