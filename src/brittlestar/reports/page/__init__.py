"""The page of a sweep: one HTML file with everything in it but the films."""
