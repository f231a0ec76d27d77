from qkv.cli import main

main()
