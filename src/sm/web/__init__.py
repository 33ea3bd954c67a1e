"""HTTP: decodes, calls the engine, encodes. One file per resource."""
