"""The parts of `brittlestar results`: sweeps, published figures, tables, bars, pages."""
