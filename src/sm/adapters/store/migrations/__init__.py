"""How a store of an earlier sm becomes one of today's. Run by ``upgrade``, never by hand."""
