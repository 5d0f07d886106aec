"""Notes as an assistant keeps them, and questions whose answer is in one of them: written for this
benchmark, in English and Chinese."""

from __future__ import annotations

# Each note with the questions that it answers. Some share its words, some only its meaning.
NOTES: dict[str, tuple[str, ...]] = {
    "Anna's birthday is on the fourth of May; she wants no party.": (
        "When was Anna born?",
        "Anna's birthday",
    ),
    "The spare key lies under the third flower pot on the balcony.": (
        "Where do we hide the extra key?",
    ),
    "Dr. Weber, the dentist, has her practice in Lindenstrasse 12.": ("Who looks after my teeth?",),
    "The router's admin page is at 192.168.1.1, user admin.": (
        "How do I get into the settings of the wifi box?",
        "router admin",
    ),
    "Bob is allergic to peanuts and carries an adrenaline pen.": (
        "What must Bob not eat?",
        "Which allergies does Bob have?",
    ),
    "The car is due for inspection in October 2027.": (
        "When does the vehicle have to be checked?",
    ),
    "For the garden: tomatoes are sown in March and planted out after the Ice Saints.": (
        "When should I sow tomatoes?",
    ),
    "Grandmother's pancakes: four eggs, half a litre of milk, 250 g flour, a pinch of salt.": (
        "How much flour goes into the pancakes?",
        "the recipe of my granny",
    ),
    "The team meets every Tuesday at ten in room Darwin.": ("When is our weekly meeting?",),
    "Project Heron is to be finished by the end of June; Carla leads it.": (
        "Who is in charge of Heron?",
        "What is the deadline of the Heron project?",
    ),
    "The boiler shows error E7 when the pressure falls below one bar; refill until 1.5.": (
        "What does E7 on the heating mean?",
    ),
    "Felix, the cat, gets half a tablet for his thyroid every morning.": (
        "Which medicine does the cat need?",
        "Felix",
    ),
    "Answers are to be short and without emojis; metric units always.": (
        "How do I like to be answered?",
    ),
    "The flight to Lisbon leaves on 12 August at 6:40 from terminal 2.": (
        "What time does our plane to Portugal go?",
    ),
    "The insurance policy number for the household is HR-4471-889.": (
        "household insurance number",
        "policy HR-4471",
    ),
    "Mia started school in September and likes mathematics best.": (
        "What is Mia's favourite subject?",
    ),
    "The bicycle lock opens with 3-8-1-5.": ("combination of the bike lock",),
    "The landlord, Mr. Okafor, wants repairs reported by letter.": (
        "How do I tell the owner of the flat that something is broken?",
    ),
    "Backups go to the NAS every night at two and are kept for thirty days.": (
        "How long do we keep backups?",
    ),
    "The red wine she liked in Siena was a Vino Nobile di Montepulciano from 2016.": (
        "Which wine did she enjoy in Italy?",
    ),
    "小李的生日是农历八月十五，正好是中秋节。": ("小李什么时候过生日？", "小李 生日"),
    "妈妈对海鲜过敏，做饭不要放虾。": ("妈妈不能吃什么？", "谁对海鲜过敏"),
    "家里的备用钥匙放在邻居王阿姨那里。": ("备用钥匙在哪里？",),
    "爷爷每天早上六点去公园打太极拳。": ("爷爷早上做什么运动？",),
    "公司的服务器每周日凌晨三点重启维护。": ("服务器什么时候维护？",),
    "女儿在学钢琴，每周三下午四点上课。": ("女儿哪天上钢琴课？", "孩子的音乐课是几点"),
    "他最喜欢的茶是杭州的龙井，不喝咖啡。": ("他喜欢喝什么茶？", "龙井"),
    "车牌号是京A12345，停在地下二层。": ("车停在哪里？", "车牌号"),
    "房租每月五号交，三千二百元，转到房东的招商银行账户。": ("每个月房租多少钱？",),
    "去成都的高铁票订好了，十月二日上午九点发车。": ("去成都的火车几点开？",),
    "医生建议少吃盐，每天量两次血压。": ("医生说了什么？", "血压"),
    "密码本在书房第二个抽屉里，红色封面。": ("密码本放在哪里？",),
    "奶奶做的红烧肉要先焯水，再用冰糖炒糖色。": ("红烧肉怎么做？",),
    "项目苍鹭六月底交付，负责人是陈工。": ("苍鹭项目的负责人是谁？",),
    "小狗豆豆每年三月打疫苗。": ("豆豆什么时候打疫苗？", "宠物的预防针"),
    "会议室的投影仪要用HDMI转接头。": ("投影仪怎么接电脑？",),
}
QUESTIONS: tuple[tuple[str, str], ...] = tuple(
    (question, note) for note, questions in NOTES.items() for question in questions
)
