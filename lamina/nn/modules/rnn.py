"""Recurrent layers. The place where PyTorch has them."""

from lamina.nn.recurrent import GRU, LSTM, RNN, RNNBase
from lamina.nn.recurrent_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]
