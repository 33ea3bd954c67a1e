"""What sm costs, each figure beside the floor of the machine it was measured on."""
