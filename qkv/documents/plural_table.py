"""Plural forms of languages. Written by tools/plural_table.py from Babel 2.18.0."""

CLDR: tuple[tuple[str, str], ...] = (
    (
        "af an asa ast az bal bem bez bg brx ce cgg chr ckb da de dv ee el en eo et eu fi fo fur fy gl gsw ha haw hu ia io jgo jmc ka kaj kcg kk kkj kl ks ksb ku ky lb lg lij mas mgo ml mn mr nb nd ne nl nn nnh no nr ny nyn om or os pap ps rm rof rwk saq sc sd sdh seh sn so sq ss ssy st sv sw syr ta te teo tig tk tn tr ts ug ur uz ve vo vun wae xh xog yi",
        "one=1 other=0,2,3,20,21,22",
    ),
    (
        "ak am as bho bn csw doi fa ff gu hi hy kab kn ln mg nso pa pcm si ti wa zu",
        "one=0,1 other=2,3,4,20,21,22",
    ),
    (
        "ar",
        "zero=0 one=1 two=2 few=3,4,5,103,104,105 many=11,12,13,20,21,22 other=100,101,102,1000000,2000000",
    ),
    ("be ru uk", "one=1,21,31,41,51,61 few=2,3,4,22,23,24 many=0,5,6,20,25,26 other=1.5,2.5,0.5"),
    ("blo ksh lag", "zero=0 one=1 other=2,3,4,20,21,22"),
    (
        "bm bo dz hnj id ig ii ja jbo jv kde kea km ko lkt lo ms my nqo osa sah ses sg su th to tpi vi wo yo yue zh",
        "other=0,1,2,20,21,22",
    ),
    (
        "br",
        "one=1,21,31,41,51,61 two=2,22,32,42,52,62 few=3,4,9,23,24,29 many=1000000,2000000 other=0,5,6,20,25,26",
    ),
    ("bs hr sr", "one=1,21,31,41,51,61 few=2,3,4,22,23,24 other=0,5,6,20,25,26"),
    ("ca es it lld pt_PT scn vec", "one=1 many=1000000,2000000 other=0,2,3,20,21,22"),
    ("ceb fil", "one=0,1,2,20,21,22 other=4,6,9,24,26,29"),
    ("cs sk", "one=1 few=2,3,4 many=1.5,2.5,0.5 other=0,5,6,20,21,22"),
    ("cy", "zero=0 one=1 two=2 few=3 many=6 other=4,5,7,20,21,22"),
    ("dsb hsb sl", "one=1,101 two=2,102 few=3,4,103,104 other=0,5,6,20,21,22"),
    ("fr pt", "one=0,1 many=1000000,2000000 other=2,3,4,20,21,22"),
    ("ga", "one=1 two=2 few=3,4,5 many=7,8,9 other=0,11,12,20,21,22"),
    ("gd", "one=1,11 two=2,12 few=3,4,5 other=0,20,21,22,23,24"),
    (
        "gv",
        "one=1,11,21,31,41,51 two=2,12,22,32,42,52 few=0,20,40,60,80,100 many=1.5,2.5,0.5 other=3,4,5,23,24,25",
    ),
    ("he iu naq sat se sma smj smn sms", "one=1 two=2 other=0,3,4,20,21,22"),
    ("is mk", "one=1,21,31,41,51,61 other=0,2,3,20,22,23"),
    (
        "kw",
        "zero=0 one=1 two=2,22,42,62,82,102 few=3,23,43,63,83,103 many=21,41,61,81,101,121 other=4,5,6,20,24,25",
    ),
    ("lt", "one=1,21,31,41,51,61 few=2,3,4,22,23,24 many=1.5,2.5,0.5 other=0,10,11,20,30,40"),
    ("lv prg", "zero=0,10,11,20,30,40 one=1,21,31,41,51,61 other=2,3,4,22,23,24"),
    ("mt", "one=1 two=2 few=0,3,4,103,104,105 many=11,12,13,111,112,113 other=20,21,22,23,24,25"),
    ("pl", "one=1 few=2,3,4,22,23,24 many=0,5,6,20,21,25 other=1.5,2.5,0.5"),
    ("ro", "one=1 few=0,2,3,101,102,103 other=20,21,22,23,24,25"),
    ("shi", "one=0,1 few=2,3,4 other=11,12,13,20,21,22"),
    ("tzm", "one=0,1,11,20,21,22 other=2,3,4,100,101,102"),
)
"""Languages, and their categories with numbers that belong to them."""
ORDINALS: tuple[tuple[str, str], ...] = (
    (
        "af am an ar ast bg bs ce cs da de dsb el es et eu fa fi fy gl gsw he hr hsb ia id is ja km kn ko ky lt lv ml mn my nb nl no pa pl prg ps pt pt_PT ru sd si sk sl sr sw ta te th tpi tr ur uz yue zh zu",
        "other=0,1,2,20,21,22",
    ),
    ("as bn", "one=1,5,7 two=2,3 few=4 many=6 other=0,11,12,20,21,22"),
    ("az", "one=1,2,5,20,21,22 few=3,4,13,23,24,33 many=0,6,16,26,36,40 other=9,10,19,29,30,39"),
    ("bal fil fr ga hy lo ms ro vi", "one=1 other=0,2,3,20,21,22"),
    ("be", "few=2,3,22,23,32,33 other=0,1,4,20,21,24"),
    ("blo", "zero=0 one=1 few=2,3,4 other=7,8,9,20,21,22"),
    ("ca", "one=1,3 two=2 few=4 other=0,5,6,20,21,22"),
    ("cy", "zero=0,7,8 one=1 two=2 few=3,4 many=5,6 other=10,11,12,20,21,22"),
    ("en", "one=1,21,31,41,51,61 two=2,22,32,42,52,62 few=3,23,33,43,53,63 other=0,4,5,20,24,25"),
    ("gd", "one=1,11 two=2,12 few=3,13 other=0,4,5,20,21,22"),
    ("gu hi", "one=1 two=2,3 few=4 many=6 other=0,5,7,20,21,22"),
    ("hu", "one=1,5 other=0,2,3,20,21,22"),
    ("it lld sc scn vec", "many=8,11,80 other=0,1,2,20,21,22"),
    ("ka", "one=1 many=0,2,3,20,40,60 other=21,22,23,24,25,26"),
    ("kk", "many=6,9,10,20,26,29 other=0,1,2,21,22,23"),
    ("kw", "one=1,2,3,21,22,23 many=5,105 other=0,6,7,20,25,26"),
    ("lij", "many=8,11,80,81,82,83 other=0,1,2,20,21,22"),
    ("mk", "one=1,21,31,41,51,61 two=2,22,32,42,52,62 many=7,8,27,28,37,38 other=0,3,4,20,23,24"),
    ("mr", "one=1 two=2,3 few=4 other=0,5,6,20,21,22"),
    ("ne", "one=1,2,3 other=0,5,6,20,21,22"),
    ("or", "one=1,5,7 two=2,3 few=4 many=6 other=0,10,11,20,21,22"),
    ("sq", "one=1 many=4,24,34,44,54,64 other=0,2,3,20,21,22"),
    ("sv", "one=1,2,21,22,31,32 other=0,3,4,20,23,24"),
    ("tk", "few=6,9,10,26,29,36 other=0,1,2,20,21,22"),
    ("uk", "few=3,23,33,43,53,63 other=0,1,2,20,21,22"),
)
"""The same for ordinal numbers."""
GETTEXT: tuple[tuple[str, str], ...] = (
    (
        "af an asa ast az bal bem bez bg bn brx ca ce cgg chr ckb da de dv ee el en eo es et eu fi fo fy gl gsw ha haw he hi hu ia io it jgo jmc ka kaj kcg kg kk kkj kl ks ksb ku ky lb lg lij lld mas mgo ml mn mr nb nd ne nl nn nnh no nr ny nyn om or os pa pap ps pt rm rof rwk saq sc scn sd sdh seh sn so sq ss ssy st sv sw syr ta te teo tig tk tn tr ts ug ur uz ve vec vo vun wae xh xog yi",
        "nplurals=2; plural=(n != 1);",
    ),
    (
        "ak am as bho csw doi fa ff fr fur gu hy kab kn ln mg nso pcm pt_BR si ti wa zu",
        "nplurals=2; plural=(n > 1);",
    ),
    (
        "ar",
        "nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=0 && n%100<=2 ? 4 : 5);",
    ),
    (
        "be bs hr ru sr uk",
        "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);",
    ),
    (
        "bm bo cv dz hnj id ig ii ja jbo jv kde kea km ko lkt lo ms my nqo osa sah ses sg su th to tpi vi wo yo yue zh",
        "nplurals=1; plural=0;",
    ),
    (
        "br",
        "nplurals=6; plural=(n==1 ? 0 : n%10==1 && n%100!=11 && n%100!=71 && n%100!=91 ? 1 : n%10==2 && n%100!=12 && n%100!=72 && n%100!=92 ? 2 : (n%10==3 || n%10==4 || n%10==9) && n%100!=13 && n%100!=14 && n%100!=19 && n%100!=73 && n%100!=74 && n%100!=79 && n%100!=93 && n%100!=94 && n%100!=99 ? 3 : n%1000000==0 ? 4 : 5);",
    ),
    ("cs sk", "nplurals=3; plural=((n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2);"),
    ("cy", "nplurals=5; plural=(n==1 ? 1 : n==2 ? 2 : n==3 ? 3 : n==6 ? 4 : 0);"),
    ("ga", "nplurals=5; plural=(n==1 ? 0 : n==2 ? 1 : n>=3 && n<=6 ? 2 : n>=7 && n<=10 ? 3 : 4);"),
    ("is", "nplurals=2; plural=(n%10==1 && n%100!=11 ? 0 : 1);"),
    ("lt", "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<10 || n%100>=20) ? 1 : 2);"),
    ("lv", "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2);"),
    (
        "mt",
        "nplurals=4; plural=(n==1 ? 0 : n==0 || ( n%100>=1 && n%100<=10) ? 1 : (n%100>10 && n%100<20 ) ? 2 : 3);",
    ),
    ("pl", "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);"),
    ("ro", "nplurals=3; plural=(n==1 ? 0 : (n==0 || (n%100 > 0 && n%100 < 20)) ? 1 : 2);"),
    ("sl", "nplurals=4; plural=(n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3);"),
)
"""Languages, and the Plural-Forms of their catalogs."""
