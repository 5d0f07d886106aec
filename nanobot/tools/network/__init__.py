"""Which internet hosts and addresses may be reached."""
