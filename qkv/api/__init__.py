"""What `import qkv` offers besides models: functions that do what the commands do. The commands call them."""
