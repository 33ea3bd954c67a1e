"""What tests share: a fake model API, the real client, a private tmux, a way to wait."""
