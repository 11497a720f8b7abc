"""What each guard refuses, in each language, and what it must leave alone."""

import pytest

from toolkit.data.rows import Candidate, Row
from toolkit.score._quantities import changes_number, quantities
from toolkit.score.guards import GUARDS, LANGUAGES, broken_guard, check_guards, guard_rows
from toolkit.score.names import _names
from toolkit.score.negation import NEGATION

REFUSED = [
    # ParaMac (Liu et al. 2022), table 8, and the toolkit's own demo
    ("en", "negation", "Such a possibility hadn't even been discussed.", "This was discussed as a possibility."),
    ("en", "negation", "He didn't come to our party because he was sick.", "He came to our party because he was sick."),
    ("en", "negation", "I never smoke.", "I smoke."),
    ("en", "negation", "Everybody knows that.", "Nobody knows that."),
    ("en", "negation", "I can’t swim.", "I can swim."),
    ("en", "negation", "There would be something.", "There would n't be anything."),
    ("en", "negation", "i dont know what to do", "i know what to do"),
    ("en", "negation", "I wont go there", "I'll go there"),
    ("en", "negation", "It isnt far.", "It is far."),
    ("en", "negation", "He cant swim.", "He can swim."),
    ("en", "negation", "She did nt call.", "She called."),
    ("en", "negation", "You don t know her.", "You know her."),
    ("en", "negation", "They didn´t come.", "They came."),
    ("en", "negation", "They shouldnt smoke.", "They should smoke."),
    ("de", "negation", "Ich weiß es nich.", "Ich weiß es."),
    ("de", "negation", "Da is nix los.", "Da ist etwas los."),
    ("fr", "negation", "Il nest plus là.", "Il est là."),
    ("fr", "negation", "J'aime pa ça.", "J'aime ça."),
    ("es", "negation", "Jamas vino.", "Vino."),
    ("zh", "negation", "我木有时间。", "我有时间。"),
    ("zh", "negation", "你別走。", "你走。"),
    ("en", "number", "Transfer 100 dollars.", "Transfer 100."),
    ("en", "number", "It costs twenty euros.", "It costs 20 dollars."),
    ("de", "number", "Das kostet 5 Euro.", "Das kostet 5."),
    ("en", "number", "I have two dogs.", "I have three dogs."),
    ("en", "number", "It costs $1,500.", "It costs $15."),
    ("en", "number", "He's twenty-one.", "He's young."),
    ("en", "number", "We have 1.5 million readers.", "We have a million readers."),
    ("en", "number", "It is -5 degrees.", "It is 5 degrees."),
    ("en", "number", "It's minus 5 degrees.", "It's 5 degrees."),
    ("de", "number", "Es sind minus fünf Grad.", "Es sind fünf Grad."),
    ("fr", "number", "Il fait -5 degrés.", "Il fait 5 degrés."),
    ("es", "number", "Estamos a -5 grados.", "Estamos a 5 grados."),
    ("zh", "number", "今天零下五度。", "今天五度。"),
    ("zh", "number", "他买了３本书。", "他买了4本书。"),
    ("en", "name", "Tom isn't here.", "Tim isn't here."),
    ("en", "name", "Tom lives in Boston.", "He lives in Boston."),
    ("en", "name", "She is here.", "Mary is here."),
    ("en", "name", "They don't know Don.", "They don't know him."),
    ("en", "name", "Yesterday Bill left.", "Yesterday he left."),
    ("en", "number", "In 2019 300 people came.", "In 2019 people came."),
    ("de", "number", "Er ist einundzwanzig.", "Er ist einundachtzig."),
    ("zh", "number", "他二十一岁。", "他二十岁。"),
    ("de", "negation", "Er kommt nicht.", "Er kommt."),
    ("de", "negation", "Ich habe keine Zeit.", "Ich habe Zeit."),
    ("de", "number", "Ich habe zwei Hunde.", "Ich habe drei Hunde."),
    ("fr", "negation", "Je ne sais pas.", "Je sais."),
    ("fr", "negation", "Il ne travaille plus.", "Il travaille."),
    ("fr", "number", "J'ai deux chiens.", "J'ai trois chiens."),
    ("fr", "name", "Il habite à Paris.", "Il habite à Lyon."),
    ("es", "negation", "No vino.", "Vino."),
    ("es", "number", "Tengo dos perros.", "Tengo tres perros."),
    ("es", "name", "Vive en Madrid.", "Vive en Sevilla."),
    ("zh", "negation", "我不知道。", "我知道。"),
    ("zh", "number", "他有两只狗。", "他有三只狗。"),
    ("zh", "name", "他在Google工作。", "他在公司工作。"),
]
KEPT = [
    ("en", "It isn't possible.", "It's impossible."),
    ("en", "They're not unhappy.", "They're happy."),
    ("en", "It's late, isn't it?", "It's late."),
    ("en", "Isn't it beautiful?", "Is it beautiful?"),
    ("en", "I don't know anything, and I don't care.", "I neither know nor care."),
    ("en", "There's no doubt that he lies.", "He certainly lies."),
    ("en", "Not only children like it.", "Adults like it as well."),
    ("en", "i dont know", "I do not know."),
    ("en", "Its late, isnt it?", "It's late."),
    ("en", "Dont go.", "Do not go."),
    ("en", "It costs $20.", "It costs twenty dollars."),
    ("en", "I paid one dollar.", "I paid a dollar."),
    ("fr", "Ce nest pas vrai.", "Ce n'est pas vrai."),
    ("en", "I have two dogs.", "I've got a pair of dogs."),
    ("en", "He has 3 cats.", "He owns three cats."),
    ("en", "Wait a second.", "Wait a moment."),
    ("en", "No one knows the one I love.", "Nobody knows whom I love."),
    ("en", "It's half past three.", "It's 3:30."),
    ("en", "He's twenty one.", "He's 21."),
    ("en", "I met a twenty-year-old man.", "I met a 20-year-old man."),
    ("en", "I have two dozen eggs.", "I have 24 eggs."),
    ("en", "It was his 2nd wife.", "It was his second wife."),
    ("en", "It costs $1.50.", "The price is $1.5."),
    ("en", "In 2019 300 people came.", "300 people came in 2019."),
    ("en", "Don't go.", "Do not go."),
    ("en", "Won't you come?", "Will you come?"),
    ("en", "Isn't he here?", "Is he not here?"),
    ("en", "Don't you like it?", "Do you not like it?"),
    ("en", "Can't you come?", "Can you not come?"),
    ("en", "Won't he leave?", "Will he not leave?"),
    ("de", "Er ist einundzwanzig.", "Er ist 21."),
    ("fr", "Il a vingt et un ans.", "Il a 21 ans."),
    ("es", "Tiene treinta y uno.", "Tiene 31."),
    ("zh", "他二十一岁。", "他21岁。"),
    ("zh", "一百个人。", "100个人。"),
    ("en", "He left in 2,000 ways.", "He left in 2000 ways."),
    ("en", "Tom's dog is in Boston.", "In Boston there is a dog. It belongs to Tom."),
    ("en", "She comes from Germany.", "She is German."),
    ("en", "The Council agreed.", "It was agreed on by the council."),
    ("en", "Mr. Jackson is out.", "Jackson is out."),
    ("en", "Will you come?", "Are you coming?"),
    ("en", "Hope is good.", "It is good to hope."),
    ("en", "THE ELEVATOR IS BROKEN", "The lift is out of order."),
    ("en", "It is -5 degrees.", "It is minus five degrees."),
    ("en", "Open Mon-Fri 9 am -5 pm.", "Open Mon-Fri from 9 am to 5 pm."),
    ("en", "Pay the price minus 10 dollars.", "Pay 10 dollars off the price."),
    ("en", "Everyone minus 2 people came.", "Everyone except 2 people came."),
    ("en", "The COVID -19 pandemic ended.", "The pandemic of COVID 19 ended."),
    ("en", "-5 degrees!", "Minus 5 degrees!"),
    ("en", "-20 minutes?", "20 minutes?"),
    ("en", "How many? -20.", "How many? 20."),
    ("en", "Between 1990-95 it grew.", "It grew between 1990 and 95."),
    ("en", "Eat 3-5 apples.", "Eat 3 to 5 apples."),
    ("en", "Eat 3 -5 apples.", "Eat 3 to 5 apples."),
    ("en", "He has COVID-19.", "He has COVID 19."),
    ("en", "This is the VP−730.", "This is the VP−730 here."),
    ("en", "He has Covid -19.", "He has COVID-19."),
    ("en", "Profit changed by -5 %.", "Profit fell by 5 %."),
    ("de", "Es sind -5 Grad.", "Es sind fünf Grad unter null."),
    ("fr", "Il y a au moins 5 personnes.", "Il y a 5 personnes au minimum."),
    ("fr", "Il fait moins cinq.", "Il fait -5."),
    ("zh", "他买了３本书。", "他买了3本书。"),
    ("zh", "今天零下五度。", "今天-5度。"),
    ("de", "Es ist schön, nicht wahr?", "Es ist schön."),
    ("de", "Nicht nur Kinder mögen das.", "Auch Erwachsene mögen das."),
    ("de", "Der Hund schläft.", "Das Tier schläft."),
    ("de", "Er hat drei Katzen.", "Er hat 3 Katzen."),
    ("fr", "C'est beau, n'est-ce pas ?", "C'est beau."),
    ("fr", "Je n'ai que deux amis.", "J'ai seulement deux amis."),
    ("es", "No vino nadie.", "Nadie vino."),
    ("es", "No solo los niños.", "También los adultos."),
    ("zh", "他不但聪明，而且用功。", "他又聪明又用功。"),
    ("zh", "他有二十五本书。", "他有25本书。"),
]


@pytest.mark.parametrize(("lang", "guard", "reference", "candidate"), REFUSED, ids=lambda value: str(value)[:24])
def test_it_refuses_both_ways(lang, guard, reference, candidate):
    assert broken_guard(reference, candidate, lang) == guard
    assert broken_guard(candidate, reference, lang) == guard


@pytest.mark.parametrize(("lang", "reference", "candidate"), KEPT, ids=lambda value: str(value)[:24])
def test_it_keeps_both_ways(lang, reference, candidate):
    assert broken_guard(reference, candidate, lang) is None
    assert broken_guard(candidate, reference, lang) is None


@pytest.mark.parametrize(
    ("lang", "reference", "candidate"),
    [
        ("en", "The result was −12.", "The result was 12."),
        ("en", "He ate ½ of it.", "He ate ⅓ of it."),
        ("en", "Add 3½ cups.", "Add 3 cups."),
    ],
)
def test_signs_of_numbers_are_numbers(lang, reference, candidate):
    assert changes_number(reference, candidate, lang) and changes_number(candidate, reference, lang)


@pytest.mark.parametrize(
    ("lang", "reference", "candidate"),
    [
        ("en", "It is −5 degrees.", "It is 5 degrees below zero."),
        ("en", "Ten minus five is five.", "10 - 5 = 5."),
        ("en", "He ate ½ of it.", "He ate half of it."),
        ("en", "Add 2½ cups.", "Add two and a half cups."),
        ("en", "It took 1½ hours.", "It took an hour and a half."),
        ("en", "He ate ⅓ of it.", "He ate a third of it."),
        ("en", "He ate ¾ of it.", "He ate three quarters of it."),
        ("en", "We have 1½ million readers.", "We have one and a half million readers."),
        ("de", "Er aß ⅓ davon.", "Er aß ein Drittel davon."),
        ("fr", "Il a mangé ¼ du gâteau.", "Il a mangé un quart du gâteau."),
        ("es", "Comió ⅓ del pastel.", "Comió un tercio del pastel."),
        ("zh", "他吃了½。", "他吃了一半。"),
    ],
)
def test_signs_of_numbers_may_be_words(lang, reference, candidate):
    """Another guard wants these signs where the reference has them."""
    assert not changes_number(reference, candidate, lang) and not changes_number(candidate, reference, lang)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_text_keeps_what_it_says_itself(lang):
    for _, _, *texts in (line for line in REFUSED if line[0] == lang):
        assert [broken_guard(text, text, lang) for text in texts] == [None, None]


def test_the_words_of_every_language_are_there():
    assert set(NEGATION) == set(LANGUAGES)
    for lang in LANGUAGES:
        assert _names("", lang) == quantities("", lang) == frozenset()


def test_rows_get_the_name_of_the_guard_and_refused_candidates_keep_their_reason():
    texts = {"He came.": None, "He did not arrive.": None, "Him not come": "dual"}
    candidates = [Candidate(text, "sample", reason=reason) for text, reason in texts.items()]
    row = Row("a-1", "a", None, None, "He didn't come.", "en", "train", candidates=candidates)
    (result,) = guard_rows([row])
    assert [c.reason for c in result.candidates] == ["negation", None, "dual"]
    candidates[0].reason = None
    list(guard_rows([row], ["number", "name"]))
    assert candidates[0].reason is None, "only the guards that are asked for"


@pytest.mark.parametrize(
    ("guards", "lang", "message"),
    [
        (["negation", "tense"], "en", "wanted guards of negation, number, name, person, got tense"),
        (
            GUARDS,
            "cs",
            "wanted no guards for language 'cs', got negation, number, name, person: they know en, de, fr, es, zh",
        ),
    ],
)
def test_unknown_guards_and_languages_are_refused(guards, lang, message):
    with pytest.raises(ValueError) as error:
        check_guards(guards, lang)
    assert str(error.value) == message
    check_guards([], "cs")
