"""Words of the generated German-English corpus: nouns, verbs, adjectives, and which of them go together.

One word a line. An underscore in an English word is a space, so that ``apple_tree`` is two tokens.
Longer than 250 lines: it is one table.
"""

NOUNS = {
    # German, gender, German plural, English, English plural. A plus marks a weak noun: den Jungen, dem Jungen.
    "person": """
        Mann m Männer man men
        Frau f Frauen woman women
        Kind n Kinder child children
        Junge+ m Jungen boy boys
        Mädchen n Mädchen girl girls
        Lehrer m Lehrer teacher teachers
        Bauer+ m Bauern farmer farmers
        Bäcker m Bäcker baker bakers
        Arzt m Ärzte doctor doctors
        König m Könige king kings
        Königin f Königinnen queen queens
        Nachbar+ m Nachbarn neighbour neighbours
        Schüler m Schüler pupil pupils
        Schwester f Schwestern sister sisters
        Bruder m Brüder brother brothers
        Mutter f Mütter mother mothers
        Vater m Väter father fathers
        Tochter f Töchter daughter daughters
        Sohn m Söhne son sons
        Großmutter f Großmütter grandmother grandmothers
        Koch m Köche cook cooks
        Gärtner m Gärtner gardener gardeners
        Fischer m Fischer fisherman fishermen
        Student+ m Studenten student students
        Tante f Tanten aunt aunts
        Onkel m Onkel uncle uncles
        Prinz+ m Prinzen prince princes
        Prinzessin f Prinzessinnen princess princesses
        Richter m Richter judge judges
        Sänger m Sänger singer singers
        Maler m Maler painter painters
        Händler m Händler merchant merchants
        Gast m Gäste guest guests
        Dichter m Dichter poet poets""",
    "animal": """
        Hund m Hunde dog dogs
        Katze f Katzen cat cats
        Pferd n Pferde horse horses
        Vogel m Vögel bird birds
        Kuh f Kühe cow cows
        Esel m Esel donkey donkeys
        Ente f Enten duck ducks
        Huhn n Hühner hen hens
        Ziege f Ziegen goat goats
        Hase+ m Hasen hare hares
        Bär+ m Bären bear bears
        Wolf m Wölfe wolf wolves
        Maus f Mäuse mouse mice""",
    "food": """
        Apfel m Äpfel apple apples
        Birne f Birnen pear pears
        Kuchen m Kuchen cake cakes
        Ei n Eier egg eggs
        Tomate f Tomaten tomato tomatoes
        Kartoffel f Kartoffeln potato potatoes
        Banane f Bananen banana bananas
        Kirsche f Kirschen cherry cherries
        Wurst f Würste sausage sausages
        Pflaume f Pflaumen plum plums
        Brötchen n Brötchen roll rolls
        Apfelkuchen m Apfelkuchen apple_cake apple_cakes
        Kirschkuchen m Kirschkuchen cherry_cake cherry_cakes
        Tomatensuppe f Tomatensuppen tomato_soup tomato_soups""",
    "thing": """
        Stuhl m Stühle chair chairs
        Tisch m Tische table tables
        Tasse f Tassen cup cups
        Ball m Bälle ball balls
        Schlüssel m Schlüssel key keys
        Bild n Bilder picture pictures
        Teller m Teller plate plates
        Messer n Messer knife knives
        Korb m Körbe basket baskets
        Blume f Blumen flower flowers
        Ring m Ringe ring rings
        Spiegel m Spiegel mirror mirrors
        Hausschlüssel m Hausschlüssel house_key house_keys
        Küchentisch m Küchentische kitchen_table kitchen_tables
        Küchenmesser n Küchenmesser kitchen_knife kitchen_knives
        Gartenstuhl m Gartenstühle garden_chair garden_chairs
        Goldring m Goldringe gold_ring gold_rings
        Obstkorb m Obstkörbe fruit_basket fruit_baskets""",
    "machine": """
        Fahrrad n Fahrräder bicycle bicycles
        Uhr f Uhren clock clocks
        Lampe f Lampen lamp lamps
        Wagen m Wagen car cars
        Küchenuhr f Küchenuhren kitchen_clock kitchen_clocks
        Straßenlampe f Straßenlampen street_lamp street_lamps""",
    "clothing": """
        Hut m Hüte hat hats
        Mantel m Mäntel coat coats
        Hemd n Hemden shirt shirts
        Kleid n Kleider dress dresses
        Schuh m Schuhe shoe shoes
        Jacke f Jacken jacket jackets
        Strohhut m Strohhüte straw_hat straw_hats
        Wintermantel m Wintermäntel winter_coat winter_coats
        Sommerkleid n Sommerkleider summer_dress summer_dresses""",
    "text": """
        Buch n Bücher book books
        Brief m Briefe letter letters
        Zeitung f Zeitungen newspaper newspapers
        Gedicht n Gedichte poem poems
        Schulbuch n Schulbücher school_book school_books
        Liebesbrief m Liebesbriefe love_letter love_letters""",
    "container": """
        Kiste f Kisten box boxes
        Koffer m Koffer suitcase suitcases
        Tasche f Taschen bag bags
        Lederkoffer m Lederkoffer leather_suitcase leather_suitcases""",
    "opening": """
        Tür f Türen door doors
        Fenster n Fenster window windows
        Tor n Tore gate gates
        Schrank m Schränke cupboard cupboards
        Gartentor n Gartentore garden_gate garden_gates
        Küchenfenster n Küchenfenster kitchen_window kitchen_windows""",
    "building": """
        Haus n Häuser house houses
        Schule f Schulen school schools
        Kirche f Kirchen church churches
        Scheune f Scheunen barn barns
        Laden m Läden shop shops
        Burg f Burgen castle castles
        Turm m Türme tower towers
        Bibliothek f Bibliotheken library libraries""",
    "area": """
        Garten m Gärten garden gardens
        Park m Parks park parks
        Wald m Wälder forest forests
        Stadt f Städte town towns
        Dorf n Dörfer village villages
        Küche f Küchen kitchen kitchens
        Zimmer n Zimmer room rooms
        Stadtpark m Stadtparks city_park city_parks""",
    "tree": """
        Baum m Bäume tree trees
        Apfelbaum m Apfelbäume apple_tree apple_trees
        Kirschbaum m Kirschbäume cherry_tree cherry_trees
        Birnbaum m Birnbäume pear_tree pear_trees""",
}

BEINGS, GOODS = ("person", "animal"), ("food", "thing", "machine", "clothing", "text", "container")

VERBS: dict[str, dict[str, tuple[str, ...]]] = {
    # infinitive (separable prefix before a bar), third person singular, English base and third person; the object's class.
    # An English particle after one bar stands behind a pronoun (picks me up), after two behind any object (reads it aloud).
    "accusative": {
        "kaufen kauft buy buys": GOODS,
        "verkaufen verkauft sell sells": GOODS,
        "suchen sucht look_for looks_for": (*BEINGS, *GOODS),
        "finden findet find finds": (*BEINGS, *GOODS),
        "brauchen braucht need needs": GOODS,
        "sehen sieht see sees": (*BEINGS, *GOODS, "building", "tree"),
        "zeichnen zeichnet draw draws": (*BEINGS, "building", "tree"),
        "hören hört hear hears": BEINGS,
        "lieben liebt love loves": BEINGS,
        "füttern füttert feed feeds": ("animal",),
        "streicheln streichelt stroke strokes": ("animal",),
        "kennen kennt know knows": ("person",),
        "besuchen besucht visit visits": ("person",),
        "an|rufen ruft call calls": ("person",),
        "ein|laden lädt invite invites": ("person",),
        "ab|holen holt pick|up picks|up": ("person",),
        "essen isst eat eats": ("food",),
        "auf|essen isst eat|up eats|up": ("food",),
        "lesen liest read reads": ("text",),
        "vor|lesen liest read||aloud reads||aloud": ("text",),
        "schreiben schreibt write writes": ("text",),
        "tragen trägt carry carries": ("container",),
        "an|ziehen zieht put|on puts|on": ("clothing",),
        "aus|ziehen zieht take|off takes|off": ("clothing",),
        "auf|hängen hängt hang|up hangs|up": ("clothing",),
        "auf|machen macht open opens": ("opening", "container"),
        "zu|machen macht close closes": ("opening", "container"),
        "ein|packen packt pack packs": ("clothing", "text"),
        "an|schauen schaut look_at looks_at": (*BEINGS, *GOODS, "building", "tree"),
        "weg|werfen wirft throw|away throws|away": ("food", "thing", "clothing", "text"),
        "mit|bringen bringt bring|along brings|along": ("food", "text", "thing"),
        "reparieren repariert repair repairs": ("machine",),
        "putzen putzt clean cleans": ("machine", "opening"),
        "verlieren verliert lose loses": ("thing", "text", "clothing"),
        "verstecken versteckt hide hides": ("thing", "text", "food", "container"),
        "bauen baut build builds": ("building",),
        "bewundern bewundert admire admires": ("building", "tree", "person"),
    },
    "dative": {
        "helfen hilft help helps": ("person",),
        "danken dankt thank thanks": ("person",),
        "folgen folgt follow follows": BEINGS,
        "antworten antwortet answer answers": ("person",),
        "gratulieren gratuliert congratulate congratulates": ("person",),
    },
    "both": {
        "geben gibt give gives": GOODS,
        "zeigen zeigt show shows": (*GOODS, "animal", "building"),
        "bringen bringt bring brings": GOODS,
        "schicken schickt send sends": ("food", "text", "clothing"),
        "verkaufen verkauft sell sells": GOODS,
    },
    "none": {
        "schlafen schläft sleep sleeps": BEINGS,
        "arbeiten arbeitet work works": ("person",),
        "lachen lacht laugh laughs": ("person",),
        "weinen weint cry cries": ("person",),
        "singen singt sing sings": ("person",),
        "tanzen tanzt dance dances": ("person",),
        "spielen spielt play plays": BEINGS,
        "warten wartet wait waits": BEINGS,
        "lernen lernt learn learns": ("person",),
        "auf|stehen steht get_up gets_up": BEINGS,
        "ein|schlafen schläft fall_asleep falls_asleep": BEINGS,
        "auf|wachen wacht wake_up wakes_up": BEINGS,
        "weg|laufen läuft run_away runs_away": BEINGS,
        "zurück|kommen kommt come_back comes_back": BEINGS,
    },
    "that": {
        "wissen weiß know knows": (),
        "glauben glaubt believe believes": (),
        "sagen sagt say says": (),
        "hoffen hofft hope hopes": (),
    },
}
"""Verbs by what they govern; for the class "none" the tuple says who may do it."""

PERSONAL = {"hören", "lieben", "kennen", "besuchen", "an|rufen", "ein|laden", "ab|holen", "suchen", "finden", "sehen"}
"""Accusative verbs that may take a pronoun as object."""

STATES_OF_MIND = {"brauchen", "lieben", "kennen"}
"""Verbs of what lasts: nobody does it at three o'clock, in the park, or because he must."""

UNWILLED = STATES_OF_MIND | {"verlieren"}
"""Verbs that take no modal: nobody wants to lose a book."""

MODALS = {"kann": ("können", "can"), "muss": ("müssen", "must"), "will": ("wollen", "want_to")}
"""Singular form to plural form and English."""

ADJECTIVES = {
    "alt old": ("person", "animal", "thing", "machine", "clothing", "text", "container", "opening", "building", "tree"),
    "jung young": ("person", "animal"),
    "klein small": (*BEINGS, *GOODS, "opening", "building", "area", "tree"),
    "groß big": ("animal", *GOODS, "opening", "building", "area", "tree"),
    "neu new": ("thing", "machine", "clothing", "text", "container", "opening", "building"),
    "schön beautiful": ("thing", "machine", "clothing", "text", "building", "area", "tree"),
    "rot red": ("thing", "machine", "clothing", "container", "opening"),
    "blau blue": ("thing", "machine", "clothing", "container", "opening"),
    "grün green": ("thing", "clothing", "container", "opening"),
    "schwarz black": ("animal", "clothing", "container"),
    "weiß white": ("animal", "clothing", "container", "opening"),
    "braun brown": ("animal", "clothing", "container"),
    "billig cheap": ("food", "thing", "machine", "clothing"),
    "schwer heavy": ("container",),
    "frisch fresh": ("food",),
    "freundlich friendly": ("person",),
    "müde tired": BEINGS,
    "hungrig hungry": BEINGS,
    "traurig sad": ("person",),
    "arm poor": ("person",),
    "reich rich": ("person",),
    "klug clever": BEINGS,
    "faul lazy": BEINGS,
    "krank ill": (),
    "fleißig diligent": ("person",),
    "stolz proud": ("person",),
    "still quiet": ("area",),
    "berühmt famous": ("person", "building"),
}
"""The classes of noun an adjective may stand before; ``krank`` stands only after a verb."""

STATES = ("müde", "hungrig", "traurig", "krank", "reich", "arm", "stolz", "freundlich")
"""Adjectives that a person can be said to be."""

LASTING = {"reich", "arm"}
"""Those that nobody is on a Monday only."""

NUMBERS = {"zwei": "two", "drei": "three", "vier": "four", "fünf": "five", "sechs": "six", "sieben": "seven", "acht": "eight"}

TIMES = {
    # German word for word, with the English words that each of them is: a tuple of pairs.
    "fronted": (
        (("heute", "today"),),
        (("manchmal", "sometimes"),),
        (("abends", "in the evening"),),
        (("morgens", "in the morning"),),
        (("nachts", "at night"),),
        *(
            (("am", "on"), pair)
            for pair in (
                ("Montag", "Monday"),
                ("Dienstag", "Tuesday"),
                ("Mittwoch", "Wednesday"),
                ("Donnerstag", "Thursday"),
                ("Freitag", "Friday"),
                ("Samstag", "Saturday"),
                ("Sonntag", "Sunday"),
            )
        ),
        *(
            (("im", "in"), pair)
            for pair in (("Sommer", "summer"), ("Winter", "winter"), ("Herbst", "autumn"), ("Frühling", "spring"))
        ),
        (("jeden", "every"), ("Tag", "day")),
        (("jeden", "every"), ("Abend", "evening")),
        (("jede", "every"), ("Woche", "week")),
        *((("um", "at"), pair, ("Uhr", "o'clock")) for pair in NUMBERS.items()),
    ),
    "frequency": ((("oft", "often"),), (("immer", "always"),), (("nie", "never"),), (("selten", "rarely"),)),
}
"""Expressions of time that may stand first, and adverbs that English puts before its verb."""

PLACES = {
    "in": ("in", ("area", "building")),
    "hinter": ("behind", ("building", "tree")),
    "vor": ("in front of", ("building",)),
    "neben": ("beside", ("building", "tree")),
    "unter": ("under", ("tree",)),
}
"""Prepositions with the dative: English, and what one can be there."""
