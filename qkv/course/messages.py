"""What the checks say, in the languages of the course."""

LANGUAGES = ("en", "es", "ko")

TEXTS: dict[str, tuple[str, str, str]] = {  # by name, in the order of LANGUAGES
    "right": ("Right.", "Correcto.", "맞습니다."),
    "nothing yet": (
        "Your function returns nothing yet. Replace ... by your code, and end it with return.",
        "Tu función todavía no devuelve nada. Sustituye ... por tu código y termínalo con return.",
        "함수가 아직 아무것도 반환하지 않습니다. ...을 코드로 바꾸고 return으로 끝내세요.",
    ),
    "raised": (
        "Your function stopped with {error}",
        "Tu función se detuvo con {error}",
        "함수가 다음 오류로 멈췄습니다: {error}",
    ),
    "not numbers": (
        "The result must be numbers, but it is a {type}.",
        "El resultado debe ser numérico, pero es de tipo {type}.",
        "결과는 숫자여야 하는데 {type} 타입입니다.",
    ),
    "several": (
        "Return {count} results, as a tuple or a list.",
        "Devuelve {count} resultados, como tupla o lista.",
        "결과 {count}개를 튜플이나 리스트로 반환하세요.",
    ),
    "shape": (
        "The result must have the shape {wanted}, but yours has {found}.",
        "El resultado debe tener la forma {wanted}, pero el tuyo tiene {found}.",
        "결과의 모양은 {wanted}이어야 하는데 {found}입니다.",
    ),
    "nan": (
        "The result contains NaN. Is there a division of zero by zero, or infinity minus infinity?",
        "El resultado contiene NaN. ¿Hay una división de cero entre cero, o infinito menos infinito?",
        "결과에 NaN이 있습니다. 0을 0으로 나누거나 무한대에서 무한대를 빼지 않았나요?",
    ),
    "value": (
        "The element {place} must be {wanted}, but yours is {found}.",
        "El elemento {place} debe ser {wanted}, pero el tuyo es {found}.",
        "원소 {place}은(는) {wanted}이어야 하는데 {found}입니다.",
    ),
    "number": (
        "The result must be {wanted}, but yours is {found}.",
        "El resultado debe ser {wanted}, pero el tuyo es {found}.",
        "결과는 {wanted}이어야 하는데 {found}입니다.",
    ),
    "softmax: columns": (
        "Your columns add up to 1, not your rows. Take the sum over the last axis: axis=-1, keepdims=True.",
        "Tus columnas suman 1, no tus filas. Suma sobre el último eje: axis=-1, keepdims=True.",
        "행이 아니라 열의 합이 1입니다. 마지막 축으로 합하세요: axis=-1, keepdims=True.",
    ),
    "softmax: everything": (
        "You divided by the sum of the whole matrix. Each row has a sum of its own: axis=-1, keepdims=True.",
        "Has dividido entre la suma de toda la matriz. Cada fila tiene su propia suma: axis=-1, keepdims=True.",
        "행렬 전체의 합으로 나누었습니다. 각 행은 자기 합으로 나눕니다: axis=-1, keepdims=True.",
    ),
    "softmax: no exponential": (
        "You divided the scores by their sum. Take the exponential of the scores first.",
        "Has dividido las puntuaciones entre su suma. Calcula antes su exponencial.",
        "점수를 그 합으로 나누었습니다. 먼저 점수의 지수함수를 구하세요.",
    ),
    "softmax: not normalized": (
        "You computed the exponentials. Now divide each row by its sum.",
        "Has calculado las exponenciales. Ahora divide cada fila entre su suma.",
        "지수는 구했습니다. 이제 각 행을 그 합으로 나누세요.",
    ),
    "scale: by the width": (
        "You divided by the width of the keys. Divide by its square root.",
        "Has dividido entre la anchura de las claves. Divide entre su raíz cuadrada.",
        "키의 너비로 나누었습니다. 그 제곱근으로 나누세요.",
    ),
    "scale: multiplied": (
        "You multiplied by the square root. Divide by it.",
        "Has multiplicado por la raíz cuadrada. Divide entre ella.",
        "제곱근을 곱했습니다. 제곱근으로 나누세요.",
    ),
    "scale: unchanged": (
        "You returned the scores unchanged. Divide them by the square root of the width.",
        "Has devuelto las puntuaciones sin cambios. Divídelas entre la raíz cuadrada de la anchura.",
        "점수를 그대로 반환했습니다. 너비의 제곱근으로 나누세요.",
    ),
    "attend: not scaled": (
        "You did not divide the scores by the square root of the width of the keys.",
        "No has dividido las puntuaciones entre la raíz cuadrada de la anchura de las claves.",
        "점수를 키 너비의 제곱근으로 나누지 않았습니다.",
    ),
    "attend: by the width": (
        "You divided the scores by the width of the keys. Divide by its square root.",
        "Has dividido las puntuaciones entre la anchura de las claves. Divide entre su raíz cuadrada.",
        "점수를 키의 너비로 나누었습니다. 그 제곱근으로 나누세요.",
    ),
    "attend: no softmax": (
        "The weights do not add up to 1. Apply softmax to the scaled scores before you multiply by the values.",
        "Los pesos no suman 1. Aplica softmax a las puntuaciones escaladas antes de multiplicar por los valores.",
        "가중치의 합이 1이 아닙니다. 값을 곱하기 전에 스케일한 점수에 softmax를 적용하세요.",
    ),
    "attend: weights only": (
        "These are the weights. Multiply them by the values.",
        "Estos son los pesos. Multiplícalos por los valores.",
        "이것은 가중치입니다. 여기에 값을 곱하세요.",
    ),
    "attend: keys as values": (
        "You took the mean of the keys. The weights belong to the values.",
        "Has promediado las claves. Los pesos se aplican a los valores.",
        "키의 평균을 구했습니다. 가중치는 값에 곱합니다.",
    ),
    "sinusoid: sines first": (
        "All your sines stand before the cosines. Put them in turn: sine in even columns, cosine in odd ones.",
        "Todos los senos están antes que los cosenos. Altérnalos: seno en las columnas pares, coseno en las impares.",
        "사인이 모두 코사인 앞에 있습니다. 번갈아 놓으세요: 짝수 열은 사인, 홀수 열은 코사인입니다.",
    ),
    "sinusoid: one exponent each": (
        "Each of your columns has its own exponent. A sine and the cosine next to it share one: use column // 2. Deck 001 has the same mistake.",
        "Cada columna tiene su propio exponente. Un seno y el coseno contiguo comparten uno: usa column // 2. La presentación 001 tiene el mismo error.",
        "열마다 지수가 다릅니다. 사인과 그 옆의 코사인은 같은 지수를 씁니다: column // 2를 쓰세요. 001번 슬라이드에도 같은 실수가 있습니다.",
    ),
    "sinusoid: from one": (
        "Your first row is for position 1. Positions begin at 0.",
        "Tu primera fila es la de la posición 1. Las posiciones empiezan en 0.",
        "첫 행이 위치 1입니다. 위치는 0부터 시작합니다.",
    ),
    "sinusoid: cosine first": (
        "You exchanged sine and cosine. Even columns have the sine.",
        "Has intercambiado seno y coseno. Las columnas pares llevan el seno.",
        "사인과 코사인이 바뀌었습니다. 짝수 열이 사인입니다.",
    ),
    "sines first: interleaved": (
        "Sines and cosines are in turn. In this layout, all sines come first.",
        "Senos y cosenos están alternados. En esta disposición van primero todos los senos.",
        "사인과 코사인이 번갈아 있습니다. 이 배치에서는 사인이 모두 먼저 옵니다.",
    ),
    "causal: future allowed": (
        "Your mask allows the future and hides the past. Row i may see the columns up to i.",
        "Tu máscara permite el futuro y oculta el pasado. La fila i puede ver las columnas hasta i.",
        "마스크가 미래를 허용하고 과거를 가립니다. i행은 i열까지 볼 수 있습니다.",
    ),
    "causal: itself hidden": (
        "Each position must also see itself: the diagonal is True.",
        "Cada posición debe verse también a sí misma: la diagonal es True.",
        "각 위치는 자기 자신도 보아야 합니다: 대각선은 True입니다.",
    ),
    "causal: inverted": (
        "Your mask is True where attention is forbidden. In this course True means allowed.",
        "Tu máscara es True donde la atención está prohibida. En este curso True significa permitido.",
        "마스크가 금지된 곳에서 True입니다. 이 강의에서 True는 허용을 뜻합니다.",
    ),
    "padding: inverted": (
        "Your mask is True for padding. True means that a position may be read.",
        "Tu máscara es True en el relleno. True significa que la posición se puede leer.",
        "마스크가 패딩에서 True입니다. True는 읽어도 되는 위치를 뜻합니다.",
    ),
    "padding: one too many": (
        "Your mask allows one place too many: a sentence of 2 tokens has the positions 0 and 1.",
        "Tu máscara permite un lugar de más: una frase de 2 tokens tiene las posiciones 0 y 1.",
        "마스크가 한 자리를 더 허용합니다: 토큰 2개인 문장의 위치는 0과 1입니다.",
    ),
    "masked softmax: zero before": (
        "A score of 0 still gets a weight, because e⁰ is 1. Use minus infinity: -np.inf.",
        "Una puntuación de 0 todavía recibe un peso, porque e⁰ es 1. Usa menos infinito: -np.inf.",
        "점수 0도 가중치를 받습니다. e⁰은 1이기 때문입니다. 음의 무한대를 쓰세요: -np.inf.",
    ),
    "masked softmax: after": (
        "You masked after the softmax, so the rows no longer add up to 1. Mask the scores before it.",
        "Has enmascarado después del softmax, así que las filas ya no suman 1. Enmascara las puntuaciones antes.",
        "softmax 다음에 마스크를 적용해서 행의 합이 1이 아닙니다. 그 전에 점수를 마스크하세요.",
    ),
    "masked softmax: no mask": (
        "You did not use the mask.",
        "No has usado la máscara.",
        "마스크를 쓰지 않았습니다.",
    ),
    "shift: too long": (
        "The result is one token too long: drop the last one. The decoder never reads the end token.",
        "El resultado tiene un token de más: quita el último. El decodificador nunca lee el token final.",
        "결과가 토큰 하나만큼 깁니다. 마지막 토큰을 빼세요. 디코더는 끝 토큰을 읽지 않습니다.",
    ),
    "shift: left": (
        "You shifted to the left. The start token comes first, and each token moves one place to the right.",
        "Has desplazado a la izquierda. Primero va el token inicial y cada token se mueve un lugar a la derecha.",
        "왼쪽으로 옮겼습니다. 시작 토큰이 먼저 오고 각 토큰은 오른쪽으로 한 칸 갑니다.",
    ),
    "shift: unchanged": (
        "You returned the tokens unchanged.",
        "Has devuelto los tokens sin cambios.",
        "토큰을 그대로 반환했습니다.",
    ),
    "split: rows mixed": (
        "You cut the matrix into blocks of numbers that do not belong together. Reshape to (words, heads, width of a head) first, then exchange the first two axes.",
        "Has cortado la matriz en bloques de números que no van juntos. Cambia primero la forma a (palabras, cabezas, anchura de una cabeza) y luego intercambia los dos primeros ejes.",
        "서로 관계없는 숫자끼리 묶였습니다. 먼저 (단어, 헤드, 헤드 너비)로 모양을 바꾸고, 그다음 앞의 두 축을 바꾸세요.",
    ),
    "split: words first": (
        "Your axes are (words, heads, width). Exchange the first two, so that each head has its own matrix.",
        "Tus ejes son (palabras, cabezas, anchura). Intercambia los dos primeros para que cada cabeza tenga su propia matriz.",
        "축이 (단어, 헤드, 너비) 순서입니다. 앞의 두 축을 바꾸어 헤드마다 행렬이 하나씩 되게 하세요.",
    ),
    "merge: rows mixed": (
        "Exchange the first two axes before you reshape. Otherwise numbers of different words end up in one row.",
        "Intercambia los dos primeros ejes antes de cambiar la forma. Si no, números de palabras distintas acaban en la misma fila.",
        "모양을 바꾸기 전에 앞의 두 축을 바꾸세요. 그러지 않으면 다른 단어의 숫자가 한 행에 섞입니다.",
    ),
    "multi-head: no output matrix": (
        "You concatenated the heads, but did not multiply by W_O.",
        "Has concatenado las cabezas, pero no has multiplicado por W_O.",
        "헤드를 이어 붙였지만 W_O를 곱하지 않았습니다.",
    ),
    "multi-head: one head": (
        "You computed one head of the full width. Split Q, K and V first.",
        "Has calculado una sola cabeza con toda la anchura. Divide antes Q, K y V.",
        "전체 너비로 헤드 하나를 계산했습니다. 먼저 Q, K, V를 나누세요.",
    ),
    "multi-head: scaled by all": (
        "You divided the scores by the square root of the full width. Each head uses the width of its own keys.",
        "Has dividido las puntuaciones entre la raíz de la anchura total. Cada cabeza usa la anchura de sus propias claves.",
        "점수를 전체 너비의 제곱근으로 나누었습니다. 헤드마다 자기 키의 너비를 씁니다.",
    ),
    "norm: over words": (
        "You normalized each column over the words. Layer norm treats each word by itself: axis=-1.",
        "Has normalizado cada columna sobre las palabras. Layer norm trata cada palabra por separado: axis=-1.",
        "열마다 단어 전체로 정규화했습니다. 레이어 정규화는 단어마다 따로 합니다: axis=-1.",
    ),
    "norm: by variance": (
        "You divided by the variance. Divide by its square root, the standard deviation.",
        "Has dividido entre la varianza. Divide entre su raíz cuadrada, la desviación típica.",
        "분산으로 나누었습니다. 그 제곱근인 표준편차로 나누세요.",
    ),
    "norm: no gain": (
        "You did not multiply by the gain and add the bias.",
        "No has multiplicado por la ganancia ni sumado el sesgo.",
        "게인을 곱하고 바이어스를 더하지 않았습니다.",
    ),
    "norm: not centered": (
        "Subtract the mean of each row before you divide.",
        "Resta la media de cada fila antes de dividir.",
        "나누기 전에 각 행의 평균을 빼세요.",
    ),
    "post-norm: no residual": (
        "You lost the input: the sum x + sublayer(x) is normalized.",
        "Has perdido la entrada: se normaliza la suma x + sublayer(x).",
        "입력이 사라졌습니다. x + sublayer(x)를 정규화해야 합니다.",
    ),
    "post-norm: before": (
        "This is pre-norm: the norm is before the sublayer. In post-norm it comes after the sum.",
        "Esto es pre-norm: la norma va antes de la subcapa. En post-norm va después de la suma.",
        "이것은 pre-norm입니다. 정규화가 서브레이어보다 먼저 옵니다. post-norm에서는 합 다음에 옵니다.",
    ),
    "post-norm: norm of the sublayer": (
        "You normalized only the output of the sublayer. Normalize the sum.",
        "Has normalizado solo la salida de la subcapa. Normaliza la suma.",
        "서브레이어의 출력만 정규화했습니다. 합을 정규화하세요.",
    ),
    "post-norm: no norm": (
        "You added the residual. Now normalize the sum.",
        "Has sumado la conexión residual. Ahora normaliza la suma.",
        "잔차를 더했습니다. 이제 합을 정규화하세요.",
    ),
    "pre-norm: after": (
        "This is post-norm. In pre-norm the sublayer reads norm(x), and the sum is not normalized.",
        "Esto es post-norm. En pre-norm la subcapa lee norm(x) y la suma no se normaliza.",
        "이것은 post-norm입니다. pre-norm에서는 서브레이어가 norm(x)를 읽고, 합은 정규화하지 않습니다.",
    ),
    "pre-norm: residual normed": (
        "The residual must stay as it is: add x, not norm(x).",
        "La conexión residual debe quedar intacta: suma x, no norm(x).",
        "잔차는 그대로 두어야 합니다. norm(x)가 아니라 x를 더하세요.",
    ),
    "ffn: no activation": (
        "There is no activation between the two matrices. Without it, they are no more than one matrix.",
        "Falta la activación entre las dos matrices. Sin ella equivalen a una sola matriz.",
        "두 행렬 사이에 활성화 함수가 없습니다. 없으면 행렬 하나와 같습니다.",
    ),
    "ffn: activation at the end": (
        "The activation comes after the first matrix, not at the end.",
        "La activación va después de la primera matriz, no al final.",
        "활성화 함수는 끝이 아니라 첫 번째 행렬 다음에 옵니다.",
    ),
    "ffn: no bias": (
        "You left out the biases.",
        "Has omitido los sesgos.",
        "바이어스를 빠뜨렸습니다.",
    ),
    "block: old residual": (
        "The second residual adds the block's input. It must add the result of the first sublayer.",
        "La segunda conexión residual suma la entrada del bloque. Debe sumar el resultado de la primera subcapa.",
        "두 번째 잔차가 블록의 입력을 더합니다. 첫 번째 서브레이어의 결과를 더해야 합니다.",
    ),
    "block: one norm": (
        "There is a norm after each of the two sublayers.",
        "Hay una norma después de cada una de las dos subcapas.",
        "두 서브레이어마다 그 뒤에 정규화가 있습니다.",
    ),
    "block: feed-forward first": (
        "Attention comes first, then the feed-forward network.",
        "Primero va la atención y después la red feed-forward.",
        "어텐션이 먼저이고 그다음이 피드포워드입니다.",
    ),
    "block: no residual": (
        "The residual connections are missing: add the input of each sublayer to its output.",
        "Faltan las conexiones residuales: suma a la salida de cada subcapa su entrada.",
        "잔차 연결이 없습니다. 각 서브레이어의 출력에 입력을 더하세요.",
    ),
    "encode: side by side": (
        "Every block read the same input. Each one must read the output of the one before it.",
        "Todos los bloques han leído la misma entrada. Cada uno debe leer la salida del anterior.",
        "모든 블록이 같은 입력을 읽었습니다. 각 블록은 앞 블록의 출력을 읽어야 합니다.",
    ),
    "encode: backwards": (
        "You used the blocks in reverse order.",
        "Has usado los bloques en orden inverso.",
        "블록을 거꾸로 적용했습니다.",
    ),
    "encode: added": (
        "You added the outputs of all blocks. Each block reads the output of the one before it.",
        "Has sumado las salidas de todos los bloques. Cada bloque lee la salida del anterior.",
        "모든 블록의 출력을 더했습니다. 각 블록은 앞 블록의 출력을 읽습니다.",
    ),
    "cross: exchanged": (
        "You exchanged the sides. The queries come from the target, the keys and values from the memory.",
        "Has intercambiado los lados. Las consultas vienen del destino; las claves y los valores, de la memoria.",
        "두 쪽이 바뀌었습니다. 쿼리는 타깃에서, 키와 값은 메모리에서 옵니다.",
    ),
    "cross: self": (
        "This is self-attention of the target. Keys and values come from the memory, the output of the encoder.",
        "Esto es autoatención del destino. Las claves y los valores vienen de la memoria, la salida del codificador.",
        "이것은 타깃의 셀프 어텐션입니다. 키와 값은 인코더의 출력인 메모리에서 옵니다.",
    ),
    "cross: no projections": (
        "You did not multiply by W_Q, W_K and W_V.",
        "No has multiplicado por W_Q, W_K y W_V.",
        "W_Q, W_K, W_V를 곱하지 않았습니다.",
    ),
    "logs: logits": (
        "These are the logits. Apply softmax to each row and take the logarithm.",
        "Estos son los logits. Aplica softmax a cada fila y toma el logaritmo.",
        "이것은 로짓입니다. 행마다 softmax를 적용하고 로그를 취하세요.",
    ),
    "logs: probabilities": (
        "These are the probabilities. Take their logarithm, better without computing tiny probabilities first.",
        "Estas son las probabilidades. Toma su logaritmo, mejor sin calcular antes probabilidades diminutas.",
        "이것은 확률입니다. 로그를 취하세요. 아주 작은 확률을 먼저 계산하지 않는 방법이 더 좋습니다.",
    ),
    "best: its logarithm": (
        "You returned the largest log-probability. Return its place: argmax.",
        "Has devuelto la mayor log-probabilidad. Devuelve su posición: argmax.",
        "가장 큰 로그 확률을 반환했습니다. 그 위치를 반환하세요: argmax.",
    ),
    "best: least likely": (
        "This is the least likely token.",
        "Este es el token menos probable.",
        "이것은 확률이 가장 낮은 토큰입니다.",
    ),
    "best: over positions": (
        "You searched over the positions. Search over the vocabulary: the last axis.",
        "Has buscado sobre las posiciones. Busca sobre el vocabulario: el último eje.",
        "위치를 따라 찾았습니다. 마지막 축인 어휘를 따라 찾으세요.",
    ),
    "loss: sum": (
        "You added up the losses. Take their mean, so that long sentences do not count more.",
        "Has sumado las pérdidas. Calcula su media para que las frases largas no cuenten más.",
        "손실을 더했습니다. 긴 문장이 더 크게 반영되지 않도록 평균을 구하세요.",
    ),
    "loss: no minus": (
        "The loss is minus the log-probability: a likely token costs little.",
        "La pérdida es menos la log-probabilidad: un token probable cuesta poco.",
        "손실은 로그 확률에 마이너스를 붙인 값입니다. 확률이 높은 토큰은 손실이 작습니다.",
    ),
    "loss: all tokens": (
        "You averaged over the whole vocabulary. Only the correct token of each position counts.",
        "Has promediado sobre todo el vocabulario. Solo cuenta el token correcto de cada posición.",
        "어휘 전체를 평균했습니다. 위치마다 정답 토큰만 셉니다.",
    ),
    "loss: probability": (
        "You averaged probabilities. Average minus the logarithms.",
        "Has promediado probabilidades. Promedia menos los logaritmos.",
        "확률을 평균했습니다. 로그에 마이너스를 붙여 평균하세요.",
    ),
    "rate: larger of the two": (
        "Take the smaller of the two terms. It rises during the warm-up and falls afterwards.",
        "Toma el menor de los dos términos. Sube durante el calentamiento y después baja.",
        "두 항 가운데 작은 쪽을 고르세요. 워밍업 동안 오르고 그 뒤에 내려갑니다.",
    ),
    "rate: no warm-up": (
        "The warm-up is missing: at the beginning the rate rises with the step.",
        "Falta el calentamiento: al principio la tasa sube con el paso.",
        "워밍업이 없습니다. 처음에는 학습률이 스텝에 따라 오릅니다.",
    ),
    "rate: no width": (
        "Multiply by the width to the power of -0.5.",
        "Multiplica por la anchura elevada a -0,5.",
        "너비의 -0.5제곱을 곱하세요.",
    ),
    "greedy: with start": (
        "Leave out the start token: it is not part of the translation.",
        "Omite el token inicial: no forma parte de la traducción.",
        "시작 토큰은 빼세요. 번역의 일부가 아닙니다.",
    ),
    "greedy: always to the limit": (
        "Stop as soon as the end token is the most likely one, and leave it out.",
        "Detente en cuanto el token final sea el más probable, y omítelo.",
        "끝 토큰의 확률이 가장 높으면 멈추고, 끝 토큰은 빼세요.",
    ),
    "beam: greedy": (
        "This is what greedy search gives. Keep several beginnings, and compare them by the sum of their log-probabilities.",
        "Esto es lo que da la búsqueda voraz. Conserva varios comienzos y compáralos por la suma de sus log-probabilidades.",
        "탐욕 탐색의 결과입니다. 여러 시작을 남겨 두고 로그 확률의 합으로 비교하세요.",
    ),
    "join: whole target": (
        "The last token of the target is only predicted, never read: leave it out.",
        "El último token del destino solo se predice, nunca se lee: omítelo.",
        "타깃의 마지막 토큰은 예측만 하고 읽지 않습니다. 빼세요.",
    ),
    "join: no start": (
        "The start token is missing between the source and the target.",
        "Falta el token inicial entre el origen y el destino.",
        "소스와 타깃 사이에 시작 토큰이 없습니다.",
    ),
    "join: start first": (
        "The start token stands between the source and the target.",
        "El token inicial va entre el origen y el destino.",
        "시작 토큰은 소스와 타깃 사이에 옵니다.",
    ),
    "loss mask: everything": (
        "The model need not predict the source. Count only the target.",
        "El modelo no tiene que predecir el origen. Cuenta solo el destino.",
        "모델이 소스를 예측할 필요는 없습니다. 타깃만 세세요.",
    ),
    "loss mask: inverted": (
        "You count the source and leave out the target.",
        "Cuentas el origen y omites el destino.",
        "소스를 세고 타깃을 뺐습니다.",
    ),
    "loss mask: one too late": (
        "You begin one position too late: the start token predicts the first word of the target.",
        "Empiezas una posición tarde: el token inicial predice la primera palabra del destino.",
        "한 칸 늦게 시작했습니다. 시작 토큰이 타깃의 첫 단어를 예측합니다.",
    ),
    "stream positions: one count": (
        "You count through both sides. In this model each side begins at 0.",
        "Cuentas los dos lados seguidos. En este modelo cada lado empieza en 0.",
        "두 쪽을 이어서 셌습니다. 이 모델에서는 각 쪽이 0부터 시작합니다.",
    ),
    "perplexity: loss": (
        "This is the loss. Perplexity is e to the power of it.",
        "Esta es la pérdida. La perplejidad es e elevado a ella.",
        "이것은 손실입니다. 퍼플렉시티는 e의 손실 제곱입니다.",
    ),
    "perplexity: no minus": (
        "The sign is missing: perplexity is at least 1.",
        "Falta el signo: la perplejidad es al menos 1.",
        "부호가 빠졌습니다. 퍼플렉시티는 1 이상입니다.",
    ),
    "perplexity: sum": (
        "Take the mean over the tokens, not the sum.",
        "Toma la media sobre los tokens, no la suma.",
        "토큰의 합이 아니라 평균을 구하세요.",
    ),
    "perplexity: mean outside": (
        "Take the mean of the logarithms first, then the exponential.",
        "Calcula primero la media de los logaritmos y después la exponencial.",
        "먼저 로그를 평균하고, 그다음 지수를 구하세요.",
    ),
    "joint: weight on the task": (
        "The weight belongs to the loss of the language model.",
        "El peso corresponde a la pérdida del modelo de lenguaje.",
        "가중치는 언어 모델의 손실에 곱합니다.",
    ),
    "joint: mean": (
        "GPT-1 adds the weighted loss of the language model. The loss of the task counts in full.",
        "GPT-1 suma la pérdida ponderada del modelo de lenguaje. La pérdida de la tarea cuenta entera.",
        "GPT-1은 언어 모델의 손실을 가중해서 더합니다. 과제의 손실은 그대로 셉니다.",
    ),
    "joint: no weight": (
        "You did not use the weight.",
        "No has usado el peso.",
        "가중치를 쓰지 않았습니다.",
    ),
    "top-k: not shared": (
        "The remaining probabilities must add up to 1 again: divide by their sum.",
        "Las probabilidades que quedan deben volver a sumar 1: divide entre su suma.",
        "남은 확률의 합이 다시 1이 되어야 합니다. 그 합으로 나누세요.",
    ),
    "top-k: least likely": (
        "You kept the least likely tokens.",
        "Has conservado los tokens menos probables.",
        "확률이 낮은 토큰을 남겼습니다.",
    ),
    "zero-shot: sum": (
        "The sum favors short answers, because each token makes it smaller. Use the mean per token.",
        "La suma favorece las respuestas cortas, porque cada token la reduce. Usa la media por token.",
        "합은 짧은 답에 유리합니다. 토큰마다 값이 작아지기 때문입니다. 토큰당 평균을 쓰세요.",
    ),
    "zero-shot: worst": (
        "You chose the least likely answer.",
        "Has elegido la respuesta menos probable.",
        "확률이 가장 낮은 답을 골랐습니다.",
    ),
    "mask tokens: always": (
        "Every chosen token became the mask. One in ten becomes another token, and one in ten stays.",
        "Todos los tokens elegidos se han convertido en la máscara. Uno de cada diez pasa a ser otro token y uno de cada diez se queda igual.",
        "선택된 토큰이 모두 마스크가 되었습니다. 열 개 중 하나는 다른 토큰이 되고 하나는 그대로 둡니다.",
    ),
    "mask tokens: exchanged": (
        "From 0.8 to 0.9 the token becomes another one; from 0.9 on it stays.",
        "De 0,8 a 0,9 el token pasa a ser otro; desde 0,9 se queda igual.",
        "0.8부터 0.9까지는 다른 토큰이 되고, 0.9부터는 그대로 둡니다.",
    ),
    "mask tokens: all tokens": (
        "Tokens whose draw is None were not chosen. They stay.",
        "Los tokens cuyo sorteo es None no fueron elegidos. Se quedan igual.",
        "draw가 None인 토큰은 선택되지 않았습니다. 그대로 두세요.",
    ),
    "pair: no last separator": (
        "The second sentence ends with a separator, too.",
        "La segunda frase también termina con un separador.",
        "두 번째 문장도 구분 토큰으로 끝납니다.",
    ),
    "pair: separator in the second": (
        "The first separator belongs to the first sentence: segment 0.",
        "El primer separador pertenece a la primera frase: segmento 0.",
        "첫 번째 구분 토큰은 첫 문장에 속합니다: 세그먼트 0.",
    ),
    "cosine: dot product": (
        "This is the dot product. Divide it by the lengths of both vectors.",
        "Este es el producto escalar. Divídelo entre las longitudes de los dos vectores.",
        "이것은 내적입니다. 두 벡터의 길이로 나누세요.",
    ),
    "cosine: distance": (
        "This is the distance. The cosine is the dot product divided by both lengths.",
        "Esta es la distancia. El coseno es el producto escalar dividido entre las dos longitudes.",
        "이것은 거리입니다. 코사인은 내적을 두 길이로 나눈 값입니다.",
    ),
    "patches: strips": (
        "You cut the picture into strips of pixels. A patch is a square: reshape to four axes and exchange the middle ones.",
        "Has cortado la imagen en tiras de píxeles. Un parche es un cuadrado: cambia a cuatro ejes e intercambia los del medio.",
        "그림을 픽셀 띠로 잘랐습니다. 패치는 정사각형입니다. 축 네 개로 바꾸고 가운데 두 축을 바꾸세요.",
    ),
    "patches: columns first": (
        "Your patches run down the columns. They go row by row, as one reads.",
        "Tus parches van por columnas. Deben ir por filas, como se lee.",
        "패치가 열을 따라 내려갑니다. 글을 읽듯이 행을 따라가야 합니다.",
    ),
    "embed: no positions": (
        "The positions are missing. Without them the model cannot know where a patch was.",
        "Faltan las posiciones. Sin ellas el modelo no sabe dónde estaba cada parche.",
        "위치가 없습니다. 위치가 없으면 패치가 어디에 있었는지 모델이 알 수 없습니다.",
    ),
    "embed: class last": (
        "The class token comes first.",
        "El token de clase va primero.",
        "클래스 토큰이 맨 앞에 옵니다.",
    ),
    "class: mean": (
        "You averaged all rows. Only the first row, that of the class token, is read.",
        "Has promediado todas las filas. Solo se lee la primera, la del token de clase.",
        "모든 행을 평균했습니다. 클래스 토큰의 첫 행만 읽습니다.",
    ),
    "class: logits": (
        "These are the logits. Apply softmax.",
        "Estos son los logits. Aplica softmax.",
        "이것은 로짓입니다. softmax를 적용하세요.",
    ),
    "nearest: farthest": (
        "These are the farthest codes: take the smallest distance.",
        "Estos son los códigos más lejanos: toma la distancia menor.",
        "가장 먼 코드입니다. 가장 작은 거리를 고르세요.",
    ),
    "nearest: product": (
        "The largest dot product is not the nearest code: a long vector has large products. Compare distances.",
        "El mayor producto escalar no es el código más cercano: un vector largo tiene productos grandes. Compara distancias.",
        "내적이 가장 큰 코드가 가장 가까운 것은 아닙니다. 긴 벡터는 내적이 큽니다. 거리를 비교하세요.",
    ),
    "nearest: vectors": (
        "These are the vectors of the codes. Return their numbers.",
        "Estos son los vectores de los códigos. Devuelve sus números.",
        "이것은 코드의 벡터입니다. 코드의 번호를 반환하세요.",
    ),
    "joint sequence: no offset": (
        "Code 3 and word 3 would be the same token. Add the number of words to each code.",
        "El código 3 y la palabra 3 serían el mismo token. Suma a cada código el número de palabras.",
        "코드 3과 단어 3이 같은 토큰이 됩니다. 코드마다 단어의 수를 더하세요.",
    ),
    "joint sequence: image first": (
        "The caption comes first, because the picture is drawn from it.",
        "El texto va primero, porque la imagen se dibuja a partir de él.",
        "설명이 먼저 옵니다. 그림은 설명을 보고 그립니다.",
    ),
    "allowed: everything": (
        "You allowed all tokens. A word in the picture cannot be drawn.",
        "Has permitido todos los tokens. Una palabra dentro de la imagen no se puede dibujar.",
        "모든 토큰을 허용했습니다. 그림 속의 단어는 그릴 수 없습니다.",
    ),
    "allowed: one too late": (
        "Codes begin right after the caption: at position caption, counted from 0.",
        "Los códigos empiezan justo después del texto: en la posición caption, contando desde 0.",
        "코드는 설명 바로 다음에 시작합니다. 0부터 세어 caption 위치입니다.",
    ),
    "allowed: inverted": (
        "You allowed codes in the caption and words in the picture.",
        "Has permitido códigos en el texto y palabras en la imagen.",
        "설명에 코드를, 그림에 단어를 허용했습니다.",
    ),
    "rnn: no state": (
        "You did not use the state before. Without it, each word is alone.",
        "No has usado el estado anterior. Sin él, cada palabra está sola.",
        "이전 상태를 쓰지 않았습니다. 상태가 없으면 단어가 따로 놉니다.",
    ),
    "rnn: last state": (
        "Return all states, one for each word.",
        "Devuelve todos los estados, uno por palabra.",
        "단어마다 하나씩 모든 상태를 반환하세요.",
    ),
    "rnn: backwards": (
        "You read the words from right to left.",
        "Has leído las palabras de derecha a izquierda.",
        "단어를 오른쪽에서 왼쪽으로 읽었습니다.",
    ),
    "path: always the distance": (
        "Attention reaches every word in one step, however far it is.",
        "La atención llega a cualquier palabra en un paso, por lejos que esté.",
        "어텐션은 아무리 멀어도 한 단계에 닿습니다.",
    ),
    "path: sign": (
        "A distance is never negative: use abs.",
        "Una distancia nunca es negativa: usa abs.",
        "거리는 음수가 될 수 없습니다. abs를 쓰세요.",
    ),
    "steps: product": (
        "Layers can overlap: layer 2 can read word 1 while layer 1 reads word 2. The last word leaves the last layer after length + layers - 1 steps.",
        "Las capas pueden solaparse: la capa 2 puede leer la palabra 1 mientras la capa 1 lee la palabra 2. La última palabra sale de la última capa tras length + layers - 1 pasos.",
        "층은 겹쳐서 일할 수 있습니다. 1층이 단어 2를 읽는 동안 2층은 단어 1을 읽습니다. 마지막 단어는 length + layers - 1단계 뒤에 마지막 층을 나옵니다.",
    ),
    "steps: attention waits": (
        "With attention, all words of a layer are computed at once. Only the layers wait for each other.",
        "Con atención, todas las palabras de una capa se calculan a la vez. Solo las capas esperan unas a otras.",
        "어텐션은 한 층의 모든 단어를 한꺼번에 계산합니다. 층만 서로 기다립니다.",
    ),
}


def text_of(name: str, language: str) -> str:
    return TEXTS[name][LANGUAGES.index(language)]
