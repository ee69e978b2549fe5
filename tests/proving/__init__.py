"""Proofs about a real server: killed, restarted, overwhelmed. A few of each run as tests, all by make service-proof."""
