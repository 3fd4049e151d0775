"""The pictures of a report, drawn as SVG."""
