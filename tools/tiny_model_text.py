"""The text that tools/train_tiny_model.py learns: simple invented English, drawn from a seed.

Nothing is quoted. A document is a request and a long answer: an explanation, a story, a numbered
list, or counting. Sentences come from a grammar; a document keeps to the nouns of its topic, and a
sentence often begins with what the last one ended with, so that the model has something to look
back for. How surely one word follows another differs from word to word: the model learns margins
from none to wide, as real ones have them.
"""

import hashlib
import random

# Topic -> its nouns. The first one is what the document is about.
TOPICS = {
    "write-ahead log": "log record writer page disk change crash table commit block",
    "hash table": "table key value bucket slot index chain search entry pointer",
    "lighthouse": "lighthouse keeper lamp sea ship storm rock tower window night",
    "garden": "garden flower tree seed bird path wall rain leaf stone",
    "river": "river boat bridge fish bank water mill stone field valley",
    "bakery": "bakery baker bread oven street morning table window smell door",
    "train station": "station train clock ticket platform bag driver door light line",
    "batch scheduler": "scheduler request batch queue token step page cache reader worker",
    "cache": "cache page reader line value key memory block copy writer",
    "library": "library book shelf reader page window lamp table letter story",
    "mountain": "mountain path snow stone cloud valley hut tree bird wind",
    "market": "market street apple basket table farmer bag price morning song",
    "tensor core": "core tile sum product number step register row column result",
    "compiler": "compiler word line tree block value name loop table result",
    "harbour": "harbour ship rope crane boat sailor storm wall lamp fish",
    "school": "school teacher child book letter window game song door morning",
    "clock": "clock wheel spring hand tower bell hour pin glass light",
    "computer network": "network packet router line address message copy queue host answer",
    "kitchen": "kitchen cook pot knife table fire bread water salt dish",
    "forest": "forest tree fox bird leaf path river moss wolf night",
    "farm": "farm farmer horse field barn gate milk cow dog hill",
    "database": "database table row index query page disk lock reader answer",
    "music box": "box song key spring lid dancer wheel hand pin shelf",
    "winter day": "day snow child fire window door coat street cat bread",
}
VERBS = ("keeps reads writes finds holds moves sends checks takes brings opens closes follows "
         "needs leaves fills marks hides joins turns shows meets carries watches").split()
ADJECTIVES = ("small old new long quiet empty full first last open dark bright slow fast simple "
              "warm cold heavy clear strange safe broken").split()
ADVERBS = ("slowly quickly often always never soon again together carefully quietly first later "
           "today").split()
PLACES = ("behind near under above beside inside before after between without").split()
OPENERS = ["Then", "Later", "Soon", "After that", "In the end", "At first", "Now", "Sometimes",
           "For a while", "Once more", "As a result", "In other words"]
NUMBERS = "two three four five six seven ten twelve".split()
REQUESTS = ["Explain a {}.", "Describe a {}.", "Tell me about a {}.", "What is a {}?",
            "Write a story about a {}."]
LIST_REQUESTS = ["List the steps of a {}.", "Give me ten facts about a {}."]
LONGEST_COUNT = 400


# Paragraphs have a rhythm: which kind of sentence is likely in which place.
RHYTHM = ("plain place opener cause pair adverb plain when place count opener pair plain "
          "nobody place adverb state").split()


def leaning(word):
    """How strongly `word` pulls the word that likes to follow it, from 0.2 to 0.9."""
    return 0.2 + 0.7 * hashlib.sha256(word.encode()).digest()[0] / 255


def after(words, word):
    """The word that likes to follow; the list goes round."""
    return words[(words.index(word) + 1) % len(words)] if word in words else words[0]


def a(word):
    return f"an {word}" if word[0] in "aeio" else f"a {word}"


class Writer:
    """One document: a topic, and what was said last.

    Without a pull from one word to the next, the likeliest text would be one short sentence again
    and again. Here nouns, verbs and kinds of sentence each go round in a list of their own length,
    more or less willingly, so the likeliest text wanders on and meets near-ties on its way.
    """

    def __init__(self, rng):
        self.rng = rng
        self.topic = rng.choice(list(TOPICS))
        self.nouns = TOPICS[self.topic].split()
        self.last_noun = self.nouns[0]
        self.last_verb = rng.choice(VERBS)
        self.place = rng.randrange(len(RHYTHM))

    def pick(self, words):
        """Earlier words are likelier: the frequencies of words fall off in any text."""
        return words[min(int(self.rng.expovariate(1) * len(words) / 2.5), len(words) - 1)]

    def pulled(self, words, word):
        if self.rng.random() < leaning(word):
            return after(words, word)
        return self.pick(words)

    def noun(self):
        if self.rng.random() < 0.03:  # a guest from another topic
            self.last_noun = self.pick(TOPICS[self.rng.choice(list(TOPICS))].split())
        else:
            self.last_noun = self.pulled(self.nouns, self.last_noun)
        return self.last_noun

    def adjective(self, noun):
        """Each noun has an adjective that it likes."""
        if self.rng.random() < leaning(noun + "?"):
            return ADJECTIVES[hashlib.sha256(noun.encode()).digest()[1] % len(ADJECTIVES)]
        return self.pick(ADJECTIVES)

    def phrase(self):
        noun = self.noun()
        if self.rng.random() < 0.35:
            noun = f"{self.adjective(noun)} {noun}"
        return self.rng.choices(["the", "every", "its"], [0.7, 0.15, 0.15])[0] + " " + noun

    def subject(self):
        if self.rng.random() < 0.75:  # go on with what was just mentioned
            return self.rng.choices(["the", "this"], [0.7, 0.3])[0] + " " + self.last_noun
        return self.phrase()

    def verb(self):
        self.last_verb = self.pulled(VERBS, self.last_verb)
        return self.last_verb

    def clause(self):
        return f"{self.subject()} {self.verb()} {self.phrase()}"

    def words(self, kind):
        if kind == "place":
            return f"{self.clause()} {self.pulled(PLACES, self.last_verb)} {self.phrase()}"
        if kind == "opener":
            return f"{self.pulled(OPENERS, self.last_noun)}, {self.clause()}"
        if kind == "cause":
            return f"{self.clause()} because {self.clause()}"
        if kind == "pair":
            return f"{self.clause()}, {self.rng.choice(['and', 'but', 'so'])} {self.clause()}"
        if kind == "when":
            return f"{self.rng.choice(['when', 'if'])} {self.clause()}, {self.clause()}"
        if kind == "adverb":
            return (f"{self.subject()} {self.pulled(ADVERBS, self.last_noun)} {self.verb()} "
                    f"{self.phrase()}")
        if kind == "count":
            return f"{self.subject()} has {self.pick(NUMBERS)} {self.noun()}s"
        if kind == "nobody":
            return f"nobody {self.verb()} {self.phrase()}"
        if kind == "state":
            return f"{self.subject()} is {self.adjective(self.last_noun)}, and {self.clause()}"
        return self.clause()

    def sentence(self):
        if self.rng.random() < 0.7:
            self.place = (self.place + 1) % len(RHYTHM)
        else:
            self.place = self.rng.randrange(len(RHYTHM))
        text = self.words(RHYTHM[self.place])
        return text[0].upper() + text[1:] + "."

    def explanation(self):
        request = self.rng.choice(REQUESTS)
        first = (f"Once upon a time there was {a(self.adjective(self.nouns[0]))} {self.topic}."
                 if "story" in request else
                 f"A {self.topic} is {a(self.pick(ADJECTIVES))} {self.noun()} that "
                 f"{self.verb()} {self.phrase()}.")
        paragraphs = []
        for _ in range(self.rng.randint(4, 7)):
            paragraphs.append(" ".join(self.sentence() for _ in range(self.rng.randint(4, 8))))
        return f"{request.format(self.topic)}\n{first} " + "\n".join(paragraphs)

    def numbered(self):
        lines = [f"{i + 1}. {self.sentence()}" for i in range(self.rng.randint(14, 24))]
        return f"{self.rng.choice(LIST_REQUESTS).format(self.topic)}\n" + "\n".join(lines)

    def counting(self):
        last = self.rng.randint(20, LONGEST_COUNT)
        between = self.rng.choices([", ", " ", "\n"], [0.8, 0.1, 0.1])[0]
        return f"Count from 1 to {last}.\n" + between.join(str(i + 1) for i in range(last))


def document(rng):
    writer = Writer(rng)
    kind = rng.random()
    if kind < 0.68:
        return writer.explanation()
    return writer.numbered() if kind < 0.9 else writer.counting()


def documents(seed, count):
    rng = random.Random(seed)
    return [document(rng) for _ in range(count)]
