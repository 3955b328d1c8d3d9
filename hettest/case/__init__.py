"""What a case file says: its model, its loader, its schema, and the check of its promises."""
