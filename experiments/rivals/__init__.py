"""Other defences of text models, each written small after its idea, and what is judged of them."""
