"""Which of many things that vary at once drives failure."""
