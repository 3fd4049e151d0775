"""What every room stands on: validated parameters, compiled kernels, progress, files that appear whole."""
