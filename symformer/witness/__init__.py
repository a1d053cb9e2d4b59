"""The torch side: the only place that imports torch. Models are built on the meta device, where size costs nothing."""
