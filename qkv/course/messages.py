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
}


def text_of(name: str, language: str) -> str:
    return TEXTS[name][LANGUAGES.index(language)]
