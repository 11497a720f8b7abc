"""Everyday English sentences of our own, on which first paraphrases are read: for choosing, and for reporting."""

VALIDATION = """
My neighbor waters our plants when we are on holiday.
I can't find my glasses anywhere.
The soup was too salty, so nobody ate it.
We should leave before it gets dark.
Her father taught her how to drive.
The shop on the corner sells fresh bread every morning.
Do you want to watch a film tonight?
He fell asleep on the sofa again.
I have been waiting for the bus for half an hour.
She always forgets her umbrella at the office.
The children built a castle in the sand.
It was so cold that the lake froze.
Please close the door when you go out.
They are going to paint the kitchen next week.
Could you help me carry this box upstairs?
My phone stopped working yesterday.
The doctor told him to drink more water.
I would like to learn a new language this year.
The train to the coast leaves at nine.
She did not tell anyone about her plans.
Our cat sleeps on the windowsill all day.
He spent all his money on books.
I don't think this is a good idea.
What did you have for breakfast this morning?
The teacher asked us to be quiet.
She is the best player on the team.
I was very tired after the long walk.
You can leave your coat here.
The police found the stolen car in a forest.
We had a wonderful time at the party.
He is afraid of big dogs.
My sister works in a hospital.
How long does it take to get to the airport?
The meeting was put off until Monday.
I met an old friend at the market.
Nobody knows where he lives.
They bought a small house near the river.
It seems that we have lost our way.
She speaks French better than I do.
The boy broke the window with a ball.
Why didn't you answer my letter?
I usually go to work by bike.
The food in this restaurant is excellent.
He promised to come back soon.
There are not enough chairs for everyone.
My grandmother tells the best stories.
You must not touch the oven, because it is hot.
The river is very deep here.
I need to talk to you about something important.
We ran out of coffee this morning.
She was born in a small village.
The lesson starts in ten minutes.
He wants to become a pilot.
Who is the woman in the red dress?
I am sorry that I am late.
Our flight was cancelled because of the storm.
Tom's brother lives in Canada.
They have known each other since school.
The old man walked slowly across the street.
I hope that the weather will be better tomorrow.
""".strip().splitlines()

REPORT = """
We forgot to lock the back door last night.
The baby has finally stopped crying.
I'm looking for a present for my mother.
He works harder than anyone else in the company.
The library is closed on Sundays.
Can I borrow your pen for a moment?
She baked a cake for her son's birthday.
It has been raining since yesterday morning.
My uncle gave me this watch.
They had to sell their car because they needed money.
You should see a dentist about that tooth.
The concert was better than we expected.
He doesn't like to talk about his childhood.
I often think about my time in Italy.
The students were waiting outside the classroom.
Where did you buy those shoes?
She turned off the radio and went to bed.
The bridge was built two hundred years ago.
We are running out of time.
There is a strange noise coming from the cellar.
My brother is not as tall as my father.
I didn't understand a word of what he said.
The dog barked at the mailman.
She has decided to quit her job.
Is there a bank near here?
The boat disappeared in the fog.
He asked me to keep it a secret.
I would rather stay at home tonight.
Everyone was surprised by her answer.
It is dangerous to swim in this river.
The coffee is still too hot to drink.
They got married three years ago.
You look tired today.
I have never been to the theater.
The company will open a new office in Berlin.
He was late because he missed the bus.
What are you going to do this weekend?
The girl is wearing a yellow raincoat.
We live on the third floor.
She spent the summer with her grandparents.
I can't remember his name.
The street was full of people.
My boss is in a bad mood today.
He learned to play the guitar by himself.
They say that the winter will be long.
Could you speak a little more slowly, please?
The thief escaped through the window.
I have to finish this report before Friday.
Her hair is longer than mine.
We couldn't sleep because of the noise.
The museum is worth a visit.
If it snows tomorrow, the school will be closed.
He put the letter in his pocket.
Nobody believed her story.
I am allergic to nuts.
The apples in the garden are almost ripe.
She looked at me without saying anything.
Don't forget to feed the cat.
My parents do not have a television.
It was the most beautiful sunset that I had ever seen.
""".strip().splitlines()
