"""The static web site: an atlas of every model, a playground that runs this package, and the guide."""
