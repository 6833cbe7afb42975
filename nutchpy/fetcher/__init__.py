"""The live machine: queues, loop, pipeline and output of the fetch stage. Knows transports by their Protocol alone."""
