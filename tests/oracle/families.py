"""Eleven kinds of models, written once for PyTorch and for Lamina: `t` is the one or the other."""


def perceptron(t):
    """Linear layers."""
    nn = t.nn
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Dropout(0.0), nn.Linear(8, 3)), (4, 6)


def convolutional(t):
    """Convolution, batch normalization, pooling."""
    nn = t.nn
    layers = [nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(36, 3)), (4, 2, 6, 6)


def residual(t):
    """A block that adds its input, with a projection beside it."""
    nn = t.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Sequential(nn.Conv2d(2, 4, 3, 2, 1, bias=False), nn.BatchNorm2d(4))
            self.second = nn.Sequential(nn.Conv2d(4, 4, 3, 1, 1, bias=False), nn.BatchNorm2d(4))
            self.beside = nn.Conv2d(2, 4, 1, 2)

        def forward(self, x):
            y = self.second(t.relu(self.first(x)))
            return t.relu(y + self.beside(x)).mean((2, 3))

    return Block(), (4, 2, 6, 6)


def recurrent(t, kind):
    """A recurrent network and a layer on its last step."""
    nn = t.nn

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = getattr(nn, kind)(3, 5, num_layers=2, batch_first=True)
            self.head = nn.Linear(5, 2)

        def forward(self, x):
            return self.head(self.body(x)[0][:, -1])

    return Reader(), (4, 7, 3)


def transformer(t):
    """A GPT of one block, written with linear layers."""
    nn = t.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.place = nn.Embedding(11, 8), nn.Parameter(t.zeros(5, 8))
            self.before, self.after = nn.LayerNorm(8), nn.LayerNorm(8)
            self.mix, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
            self.feed = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
            self.head = nn.Linear(8, 11, bias=False)
            self.head.weight = self.token.weight
            self.register_buffer("mask", t.tril(t.ones(5, 5)).bool())

        def forward(self, x):
            x = self.token(x) + self.place
            q, k, v = (
                part.view(-1, 5, 2, 4).transpose(1, 2)
                for part in self.mix(self.before(x)).split(8, dim=2)
            )
            scores = (q @ k.transpose(2, 3) / 2).masked_fill(~self.mask, float("-inf"))
            mixed = (t.softmax(scores, -1) @ v).transpose(1, 2).reshape(-1, 5, 8)
            x = x + self.out(mixed)
            return self.head(x + self.feed(self.after(x)))

    return Block(), "integers"


def attention(t):
    """The library's own transformer."""
    nn = t.nn

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
            self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.look = nn.MultiheadAttention(8, 2, batch_first=True)
            self.head = nn.Linear(8, 2)

        def forward(self, x):
            x = self.body(x)
            return self.head(self.look(x, x, x, need_weights=False)[0].mean(1))

    return Encoder(), (4, 5, 8)


def embedded(t):
    """A classifier of bags of words."""
    nn = t.nn

    class Bag(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.head = nn.Embedding(11, 6, padding_idx=0), nn.Linear(6, 2)

        def forward(self, x):
            return self.head(self.words(x).mean(1))

    return Bag(), "integers"


def variational(t):
    """An autoencoder with transposed convolution; its noise left out."""
    nn = t.nn

    class Autoencoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode = nn.Sequential(nn.Conv2d(1, 4, 3, 2, 1), nn.LeakyReLU(0.1), nn.Flatten())
            self.mean, self.spread = nn.Linear(36, 3), nn.Linear(36, 3)
            self.widen = nn.Linear(3, 36)
            self.decode = nn.ConvTranspose2d(4, 1, 4, 2, 1)

        def forward(self, x):
            code = self.encode(x)
            hidden = self.mean(code) + t.exp(self.spread(code)) * 0.1
            return t.sigmoid(self.decode(self.widen(hidden).view(-1, 4, 3, 3)))

    return Autoencoder(), (4, 1, 6, 6)


def unet(t):
    """Down, up, and a bridge between them, with group normalization."""
    nn = t.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.Sequential(nn.Conv2d(2, 4, 3, 1, 1), nn.GroupNorm(2, 4), nn.SiLU())
            self.middle = nn.Sequential(nn.Conv2d(4, 4, 3, 2, 1), nn.GroupNorm(2, 4), nn.SiLU())
            self.up = nn.ConvTranspose2d(4, 4, 2, 2)
            self.out = nn.Conv2d(8, 1, 1)

        def forward(self, x):
            wide = self.down(x)
            return self.out(t.cat([wide, self.up(self.middle(wide))], 1))

    return Net(), (4, 2, 6, 6)


def mobile(t):
    """Depthwise and pointwise convolutions."""
    nn = t.nn

    def separable(inside, outside):
        depthwise = nn.Conv2d(inside, inside, 3, 1, 1, groups=inside, bias=False)
        pointwise = nn.Conv2d(inside, outside, 1, bias=False)
        return nn.Sequential(depthwise, nn.BatchNorm2d(inside), nn.ReLU6(), pointwise)

    pooled = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3)]
    return nn.Sequential(separable(2, 4), separable(4, 8), *pooled), (4, 2, 6, 6)


FAMILIES = {
    "perceptron": perceptron,
    "convolutional": convolutional,
    "residual": residual,
    "LSTM": lambda t: recurrent(t, "LSTM"),
    "GRU": lambda t: recurrent(t, "GRU"),
    "transformer": transformer,
    "attention": attention,
    "embedded": embedded,
    "variational": variational,
    "unet": unet,
    "mobile": mobile,
}


def built(t, name, seed):
    """A model with weights of its own, and a batch of inputs for it."""
    t.manual_seed(seed)
    model, shape = FAMILIES[name](t)
    with t.no_grad():
        for parameter in model.parameters():
            parameter.add_(t.randn(parameter.shape) * 0.1)
    t.manual_seed(7)
    x = t.randint(0, 11, (4, 5)) if shape == "integers" else t.randn(*shape)
    return model, x


def optimizer_of(t, name, model):
    """One of the two optimizers, with state."""
    if name == "Adam":
        return t.optim.Adam(model.parameters(), lr=0.01, weight_decay=0.01, amsgrad=True)
    return t.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True)


def trained(model, optimizer, x, steps):
    """Train in place."""
    for _ in range(steps):
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()
