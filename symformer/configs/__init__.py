"""Reading config.json files and mapping their fields to sizes and options."""
